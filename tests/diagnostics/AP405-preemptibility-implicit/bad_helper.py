from apportion_policy import Organisation, Policy, PriorityClass


def tier(name: str, value: int) -> PriorityClass:
    return PriorityClass(name=name, value=value)  # AP405


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        tier("important", 100),  # AP405 called here
        tier("batch", 20),
    ),
)
