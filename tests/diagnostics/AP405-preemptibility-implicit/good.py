from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        *DEFAULT_PRIORITY_CLASSES,
        PriorityClass(name="important", value=1_000_000, preemptible=True),
        PriorityClass(name="batch", value=99),
    ),
)
