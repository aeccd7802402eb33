from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, cores: int) -> Queue:
    return Queue(  # AP206
        id=name, guaranteed=Resources(cpu=cores, gpu=8), priority_classes=("train", "build")
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", 64),
        team("speech", 0),  # AP206 called here
    ),
)
