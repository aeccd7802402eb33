from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", namespaces=("vision", "vision-notebooks"), guaranteed=Resources(gpu=8)),
        Queue(id="speech", namespaces=("speech", "speech-notebooks"), guaranteed=Resources(gpu=4)),
    ),
)
