from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources, UserLimit

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(  # AP503
            id="vision",
            namespaces=("vision",),
            guaranteed=Resources(gpu=16),
            users=(UserLimit(user="*", limit=Resources(gpu=2)),),
        ),
        Queue(id="speech", namespaces=("speech",)),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)
