from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="a-research-group-with-a-name-longer-than-the-sixty-three-characters-of-a-label",
            guaranteed=Resources(gpu=8),
        ),
        Queue(
            id="a-research-group-with-a-name-longer-than-the-sixty-three-characters-of-a-label-too",
            guaranteed=Resources(gpu=4),
        ),
    ),
)
