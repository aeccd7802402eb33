from apportion_policy import UNLIMITED, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        # Nobody's CPU is counted, and the team without a guarantee expects none.
        Queue(id="production", guaranteed=Resources(cpu=UNLIMITED, gpu=32)),
        Queue(id="research", guaranteed=Resources(cpu=UNLIMITED, gpu=16)),
        Queue(id="interns"),
    ),
)
