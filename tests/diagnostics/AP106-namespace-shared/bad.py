from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", namespaces=("vision", "shared"), guaranteed=Resources(gpu=8)),
        Queue(id="speech", namespaces=("speech", "shared"), guaranteed=Resources(gpu=4)),  # AP106
        Queue(id="llm", namespaces=("shared", "llm"), guaranteed=Resources(gpu=4)),
        Queue(id="robotics", namespaces=("robotics", "robotics"), guaranteed=Resources(gpu=4)),  # AP106
    ),
)
