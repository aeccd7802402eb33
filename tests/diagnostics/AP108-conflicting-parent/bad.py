from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="production", guaranteed=Resources(gpu=16)),
        Queue(
            id="research",
            guaranteed=Resources(gpu=16),
            children=(
                Queue(id="vision", parent="production", guaranteed=Resources(gpu=8)),  # AP108
                Queue(id="speech", parent="research", guaranteed=Resources(gpu=8)),
            ),
        ),
    ),
)
