from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, department: str) -> Queue:
    return Queue(id=name, parent=department, guaranteed=Resources(gpu=8))  # AP108


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="production", guaranteed=Resources(gpu=16)),
        Queue(
            id="research",
            guaranteed=Resources(gpu=16),
            children=(
                team("vision", "production"),  # AP108 called here
                team("speech", "research"),
            ),
        ),
    ),
)
