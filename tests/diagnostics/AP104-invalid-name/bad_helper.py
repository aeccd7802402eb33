from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, gpus: int) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=gpus))  # AP104


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("speech", 8),
        team("Vision Team", 8),  # AP104 called here
        team("🤖", 8),  # AP104 called here
    ),
)
