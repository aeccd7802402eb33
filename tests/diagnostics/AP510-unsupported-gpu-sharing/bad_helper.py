from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources


def team(name: str) -> Queue:
    return Queue(  # AP510
        id=name, namespaces=(name,), limit=Resources(gpu=16), gpu_sharing=True
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", namespaces=("speech",)),
        team("vision"),  # AP510 called here
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.NATIVE, engine_version="1.34"),)),
    ),
)
