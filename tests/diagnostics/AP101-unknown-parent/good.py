from apportion_policy import Organisation, Policy, Queue, Resources

research = Queue(id="research", guaranteed=Resources(gpu=16))

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        research,
        Queue(id="vision", parent=research, guaranteed=Resources(gpu=8)),
        Queue(id="speech", parent="research", guaranteed=Resources(gpu=8)),
    ),
)
