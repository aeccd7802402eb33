from apportion_policy import Organisation, Policy, Queue


def below(parent: str, name: str) -> Queue:
    return Queue(id=name, parent=parent)  # AP102


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        below("vision", "research"),  # AP102 called here
        below("research", "vision"),
    ),
)
