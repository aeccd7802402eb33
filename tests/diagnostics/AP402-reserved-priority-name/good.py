from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        *DEFAULT_PRIORITY_CLASSES,
        PriorityClass(name="urgent", value=10_000, preemptible=False),
    ),
)
