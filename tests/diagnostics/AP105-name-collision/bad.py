from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="a-research-group-with-a-name-longer-than-the-sixty-three-characters-of-a-label",
            guaranteed=Resources(gpu=8),
        ),
        Queue(  # AP105
            id="a-research-group-with-a-name-longer-than-the-sixty-thr-e48d3df0",
            guaranteed=Resources(gpu=4),
        ),
    ),
)
