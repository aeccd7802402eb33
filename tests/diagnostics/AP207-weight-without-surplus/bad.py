from apportion_policy import Organisation, Policy, Queue, Resources, Weight

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(  # AP207
            id="vision", guaranteed=Resources(cpu=64, gpu=8), limit=Resources(cpu=64, gpu=8), over_quota_weight=3
        ),
        Queue(  # AP207
            id="speech",
            guaranteed=Resources(cpu=64, gpu=8),
            limit=Resources(cpu=128, gpu=8),
            over_quota_weight=Weight(cpu=2, gpu=2),
        ),
        Queue(id="research", children=(Queue(id="llm", over_quota_weight=2),)),  # AP207
    ),
)
