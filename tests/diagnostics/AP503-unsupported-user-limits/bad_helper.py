from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources, UserLimit


def team(name: str) -> Queue:
    return Queue(  # AP503
        id=name, namespaces=(name,), guaranteed=Resources(gpu=16), users=(UserLimit(user="*", limit=Resources(gpu=2)),)
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", namespaces=("speech",)),
        team("vision"),  # AP503 called here
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)
