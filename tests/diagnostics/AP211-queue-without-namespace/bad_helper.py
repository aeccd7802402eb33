from apportion_policy import Organisation, Policy, Queue


def team(name: str, *namespaces: str) -> Queue:
    return Queue(id=name, namespaces=namespaces)  # AP211


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", "vision"),
        team("speech"),  # AP211 called here
    ),
)
