from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str) -> Queue:
    return Queue(id=name, namespaces=(name, "notebooks"), guaranteed=Resources(gpu=4))  # AP106


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision"),
        team("speech"),  # AP106 called here
    ),
)
