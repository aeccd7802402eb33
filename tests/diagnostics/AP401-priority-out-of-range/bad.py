from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        *DEFAULT_PRIORITY_CLASSES,
        PriorityClass(name="urgent", value=2_000_000_000, preemptible=False),  # AP401
        PriorityClass(name="idle", value=-3_000_000_000, preemptible=True),  # AP401
    ),
)
