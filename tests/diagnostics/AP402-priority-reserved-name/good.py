from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        *DEFAULT_PRIORITY_CLASSES,
        PriorityClass(name="urgent", value=10_000, preemptible=False),
        PriorityClass(name="system-cluster-critical", value=2_000_000_000, preemptible=False, installed_by_engine=True),
    ),
)
