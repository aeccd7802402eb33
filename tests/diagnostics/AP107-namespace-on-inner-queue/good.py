from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu=16)),
        Queue(id="research-shared", parent="research", namespaces=("research",), guaranteed=Resources(gpu=4)),
        Queue(id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(gpu=8)),
    ),
)
