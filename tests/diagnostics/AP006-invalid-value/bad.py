from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", guaranteed=Resources(gpu=-8)),  # AP006
        Queue(id="speech", guaranteed=Resources(memory="2TB")),  # AP006
        Queue(id="llm", guarantee=Resources(gpu=4)),  # AP006
    ),
)
