from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="production", guaranteed=Resources(gpu=16)),
        Queue(id="research", parent="llm", guaranteed=Resources(gpu=16)),  # AP102
        Queue(id="vision", parent="research", guaranteed=Resources(gpu=8)),
        Queue(id="llm", parent="vision", guaranteed=Resources(gpu=8)),
        Queue(id="speech", parent="speech"),  # AP102
    ),
)
