from apportion_policy import Organisation, Policy, Queue, Resources


def team(department: str, name: str) -> Queue:
    return Queue(id=name, parent=department, guaranteed=Resources(gpu=4))  # AP103


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research"),
        Queue(id="production"),
        team("research", "vision"),
        team("production", "vision"),  # AP103 called here
    ),
)
