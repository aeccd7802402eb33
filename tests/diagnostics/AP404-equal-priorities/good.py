from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        *DEFAULT_PRIORITY_CLASSES,
        PriorityClass(name="serving", value=130, preemptible=False),
        PriorityClass(name="batch", value=40, preemptible=True),
    ),
)
