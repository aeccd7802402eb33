from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    Queue,
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", namespaces=("speech",)),
        Queue(id="vision", namespaces=("vision",), over_quota_weight=4),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.VOLCANO, engine_version="1.16.0"),),
        ),
    ),
)
