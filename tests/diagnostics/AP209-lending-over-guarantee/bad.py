from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(  # AP209
            id="vision",
            guaranteed=Resources(cpu=64, gpu={"h100": 8}),
            lending_limit=Resources(cpu=32, gpu={"h100": 16}),
        ),
        Queue(id="speech", lending_limit=Resources(gpu=4)),  # AP209
    ),
)
