from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme"),
    queues=(
        Queue(id="research", guaranteed=Resources(cpu=64, memory="512Gi", gpu=8)),  # AP115
        Queue(
            id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(cpu=32, memory="256Gi", gpu=4)
        ),
        Queue(
            id="speech",
            parent="research",
            owner="@acme/speech",
            namespaces=("speech",),
            guaranteed=Resources(cpu=32, memory="256Gi", gpu=4),
        ),
    ),
)
