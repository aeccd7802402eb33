from apportion_policy import Organisation, Policy, PriorityClass


def tier(name: str, value: int) -> PriorityClass:
    return PriorityClass(name=name, value=value, preemptible=False)  # AP402


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        tier("system-urgent", 1000),  # AP402 called here
        tier("normal", 50),
    ),
)
