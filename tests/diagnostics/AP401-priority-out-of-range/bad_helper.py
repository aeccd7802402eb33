from apportion_policy import Organisation, Policy, PriorityClass


def tier(name: str, value: int) -> PriorityClass:
    return PriorityClass(name=name, value=value, preemptible=False)  # AP401


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        tier("urgent", 1_000_000_001),  # AP401 called here
        tier("normal", 1_000_000_000),
    ),
)
