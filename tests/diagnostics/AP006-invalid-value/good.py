from apportion_policy import UNLIMITED, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", guaranteed=Resources(gpu=8), limit=Resources(gpu=UNLIMITED)),
        Queue(id="speech", guaranteed=Resources(memory="2Ti", cpu="500m", gpu="0.5")),
    ),
)
