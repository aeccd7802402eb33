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
        Queue(id="acme"),
        Queue(id="research", parent="acme"),
        Queue(id="vision", parent="research"),
        Queue(id="models", parent="vision"),
        Queue(id="group", parent="models"),
        Queue(id="team", parent="group", namespaces=("team",)),  # AP518
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.VOLCANO, engine_version="1.16.0"),),
        ),
    ),
)
