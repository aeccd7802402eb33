from apportion_policy import Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="production"),
        Queue(id="research", reclaim_min_runtime="1h", preempt_min_runtime="10m"),
        Queue(id="vision", parent="research", reclaim_min_runtime="1h"),
        # Less than its siblings are given, on purpose.
        Queue(id="llm", parent="research", reclaim_min_runtime="5m"),
    ),
)
