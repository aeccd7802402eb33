from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", namespaces=("research",), guaranteed=Resources(gpu=16)),  # AP107
        Queue(id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(gpu=8)),
    ),
)
