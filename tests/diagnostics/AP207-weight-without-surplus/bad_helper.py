from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, guaranteed: int, limit: int) -> Queue:
    return Queue(  # AP207
        id=name, guaranteed=Resources(gpu=guaranteed), limit=Resources(gpu=limit), over_quota_weight=4
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", 8, 16),
        team("speech", 8, 8),  # AP207 called here
    ),
)
