from apportion_policy import Organisation, Policy, Queue, Resources


def queue(name: str, gpus: int, *children: Queue) -> Queue:
    return Queue(  # AP107
        id=name,
        namespaces=(name,),
        guaranteed=Resources(gpu=gpus),
        children=children,
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        queue("research", 16, queue("vision", 8)),  # AP107 called here
    ),
)
