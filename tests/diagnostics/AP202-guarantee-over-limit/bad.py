from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            guaranteed=Resources(cpu=64, memory="1Ti", gpu={"h100": 16}),  # AP202
            limit=Resources(cpu=128, memory="1Ti", gpu={"h100": 8}),
        ),
        Queue(
            id="production",
            limit=Resources(gpu=8),  # AP202
            children=(
                Queue(id="search", guaranteed=Resources(gpu=6)),
                Queue(id="ads", guaranteed=Resources(gpu=4)),
            ),
        ),
    ),
)
