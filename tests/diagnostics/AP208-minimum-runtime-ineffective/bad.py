from apportion_policy import Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="production"),
        Queue(id="research", reclaim_min_runtime="5m"),
        Queue(id="vision", parent="research", reclaim_min_runtime="1h"),  # AP208
        Queue(id="llm", parent="research"),
        Queue(  # AP208
            id="serving", parent="production", preempt_min_runtime="10m", priority_classes=("build", "inference")
        ),
        Queue(id="ads", parent="production", children=(Queue(id="ads-eu", reclaim_min_runtime="0s"),)),
    ),
)
