from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    Queue,
    Weight,
)


def team(name: str) -> Queue:
    return Queue(id=name, namespaces=(name,), over_quota_weight=Weight(cpu=1, gpu=4))  # AP515


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", namespaces=("speech",)),
        team("vision"),  # AP515 called here
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.VOLCANO, engine_version="1.16.0"),),
        ),
    ),
)
