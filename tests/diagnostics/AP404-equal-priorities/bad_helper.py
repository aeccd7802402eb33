from apportion_policy import Organisation, Policy, PriorityClass


def tier(name: str, value: int) -> PriorityClass:
    return PriorityClass(name=name, value=value, preemptible=False)  # AP404


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        tier("normal", 50),
        tier("batch", 50),  # AP404 called here
    ),
)
