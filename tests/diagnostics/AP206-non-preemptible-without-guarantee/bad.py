from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", guaranteed=Resources(cpu=64, memory="1Ti", gpu={"h100": 8})),
        Queue(  # AP206
            id="speech",
            guaranteed=Resources(cpu=64, memory="1Ti", gpu={"h100": 8}),
            limit=Resources(gpu={"h100": 16, "a100": 16}),
            priority_classes=("train", "build"),
        ),
        Queue(  # AP206
            id="search", guaranteed=Resources(cpu=64, gpu=0), priority_classes=("train", "inference")
        ),
    ),
)
