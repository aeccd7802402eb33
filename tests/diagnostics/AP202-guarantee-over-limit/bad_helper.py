from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, guaranteed: int, limit: int) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=guaranteed), limit=Resources(gpu=limit))  # AP202


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", 4, 8),
        team("speech", 8, 4),  # AP202 called here
    ),
)
