from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, gpus: int, lends: int) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=gpus), lending_limit=Resources(gpu=lends))  # AP209


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", 8, 4),
        team("speech", 8, 12),  # AP209 called here
    ),
)
