from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme"),
    queues=(
        Queue(id="research", owner="@acme/research", guaranteed=Resources(cpu=64, memory="512Gi", gpu=8)),
        Queue(
            id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(cpu=32, memory="256Gi", gpu=4)
        ),
    ),
)
