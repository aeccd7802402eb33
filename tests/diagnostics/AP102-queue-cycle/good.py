from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="llm", parent="vision", guaranteed=Resources(gpu=8)),
        Queue(id="vision", parent="research", guaranteed=Resources(gpu=8)),
        Queue(id="research", guaranteed=Resources(gpu=16)),
    ),
)
