from apportion_policy import Organisation, Policy, Queue, Resources, UserLimit


def queue(name: str, gpus: int, *children: Queue) -> Queue:
    return Queue(  # AP116
        id=name,
        guaranteed=Resources(gpu=gpus),
        users=(UserLimit(user="*", limit=Resources(gpu=2)), UserLimit(user="kim", limit=Resources(gpu=4))),
        children=children,
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        queue("research", 8, queue("vision", 4)),  # AP116 called here
    ),
)
