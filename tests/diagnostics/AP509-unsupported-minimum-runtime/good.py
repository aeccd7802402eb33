from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", namespaces=("vision",), limit=Resources(gpu=16)),
        Queue(id="speech", namespaces=("speech",)),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.NATIVE, engine_version="1.34"),)),
    ),
)
