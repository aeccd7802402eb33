from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="research",
            guaranteed=Resources(gpu=16),
            children=(
                Queue(id="vision", guaranteed=Resources(gpu=8)),
                Queue(id="speech", parent="research", guaranteed=Resources(gpu=8)),
            ),
        ),
    ),
)
