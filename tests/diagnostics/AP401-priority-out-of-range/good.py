from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        *DEFAULT_PRIORITY_CLASSES,
        PriorityClass(name="urgent", value=1_000_000_000, preemptible=False),
        PriorityClass(name="idle", value=-2_147_483_648, preemptible=True),
    ),
)
