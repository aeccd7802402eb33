from apportion_policy import UNLIMITED, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="production", guaranteed=Resources(cpu=256, gpu=32)),
        Queue(id="batch", guaranteed=Resources(cpu=64, gpu=UNLIMITED)),  # AP204
        Queue(id="search", parent="production", guaranteed=Resources(gpu=24)),
        Queue(id="ads", parent="production", guaranteed=Resources(gpu=UNLIMITED)),  # AP204
    ),
)
