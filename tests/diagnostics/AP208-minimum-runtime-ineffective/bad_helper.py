from apportion_policy import Organisation, Policy, Queue


def team(name: str, department: str, keeps: str | None) -> Queue:
    return Queue(id=name, parent=department, reclaim_min_runtime=keeps)  # AP208


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="production"),
        Queue(id="research"),
        team("vision", "research", "2h"),  # AP208 called here
        team("speech", "research", None),
    ),
)
