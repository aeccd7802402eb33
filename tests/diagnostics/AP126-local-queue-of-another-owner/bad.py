from apportion_policy import KueueLocalQueue, KueueQueue, Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", owner="@acme/speech", namespaces=("speech",)),
        Queue(
            id="vision",
            owner="@acme/vision",
            kueue=KueueQueue(
                local_queues=(
                    KueueLocalQueue(name="default", namespace="speech"),  # AP126
                    KueueLocalQueue(name="vision", namespace="vision"),
                )
            ),
            namespaces=("vision",),
        ),
    ),
)
