from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="serving", priority_classes=("system-serving", "train")),),
    priority_classes=(
        *DEFAULT_PRIORITY_CLASSES,
        PriorityClass(name="system-urgent", value=10_000, preemptible=False),  # AP402
        PriorityClass(name="system-serving", value=9_000, preemptible=False),  # AP402
        PriorityClass(name="system-node-critical", value=8_000, preemptible=False),  # AP402
        PriorityClass(  # AP402
            name="system-cluster-critical", value=2_000_000_000, preemptible=False, installed_by_engine=True
        ),
        PriorityClass(name="teams", value=60, preemptible=True, installed_by_engine=True),  # AP402
    ),
)
