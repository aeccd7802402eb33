from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, memory: str) -> Queue:
    return Queue(id=name, guaranteed=Resources(memory=memory))  # AP006


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", "2Ti"),
        team("speech", "2 terabytes"),  # AP006 called here
    ),
)
