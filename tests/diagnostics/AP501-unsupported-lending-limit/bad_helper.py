from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources


def team(name: str) -> Queue:
    return Queue(  # AP501
        id=name, namespaces=(name,), guaranteed=Resources(gpu=16), lending_limit=Resources(gpu=8)
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", namespaces=("speech",)),
        team("vision"),  # AP501 called here
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)
