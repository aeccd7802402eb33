from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", guaranteed=Resources(cpu=64, gpu={"h100": 8}), lending_limit=Resources(cpu=0, gpu=8)),
        Queue(id="speech", lending_limit=Resources(gpu="unlimited")),
    ),
)
