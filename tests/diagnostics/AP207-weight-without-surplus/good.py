from apportion_policy import Organisation, Policy, Queue, Resources, Weight

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", guaranteed=Resources(cpu=64, gpu=8), limit=Resources(cpu=64, gpu=16), over_quota_weight=3),
        # 1 is what an unset weight is, and 0 asks for nothing.
        Queue(id="speech", guaranteed=Resources(cpu=64, gpu=8), limit=Resources(cpu=64, gpu=8), over_quota_weight=1),
        Queue(id="serving", guaranteed=Resources(gpu=8), limit=Resources(gpu=8), over_quota_weight=0),
        Queue(id="llm", guaranteed=Resources(gpu=8), limit=Resources(gpu=8), over_quota_weight=Weight(cpu=2)),
    ),
)
