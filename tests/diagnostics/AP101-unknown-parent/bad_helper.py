from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, department: str) -> Queue:
    return Queue(id=name, parent=department, guaranteed=Resources(gpu=8))  # AP101


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu=16)),
        team("speech", "research"),
        team("vision", "production"),  # AP101 called here
    ),
)
