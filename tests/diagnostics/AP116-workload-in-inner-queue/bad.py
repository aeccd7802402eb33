from apportion_policy import Organisation, Policy, Queue, Resources, UserLimit

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(  # AP116
            id="research",
            guaranteed=Resources(cpu=64, memory="512Gi", gpu=8),
            users=(UserLimit(user="*", limit=Resources(gpu=2)),),
        ),
        Queue(
            id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(cpu=32, memory="256Gi", gpu=4)
        ),
    ),
)
