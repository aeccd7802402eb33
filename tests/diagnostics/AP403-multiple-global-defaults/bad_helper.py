from apportion_policy import Organisation, Policy, PriorityClass


def tier(name: str, value: int, *, usual: bool = False) -> PriorityClass:
    return PriorityClass(name=name, value=value, preemptible=True, global_default=usual)  # AP403


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        tier("normal", 50, usual=True),
        tier("batch", 40, usual=True),  # AP403 called here
        tier("idle", 10),
    ),
)
