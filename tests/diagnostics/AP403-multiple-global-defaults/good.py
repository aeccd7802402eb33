from apportion_policy import Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        PriorityClass(name="normal", value=50, preemptible=True, global_default=True),
        PriorityClass(name="batch", value=40, preemptible=True),
    ),
)
