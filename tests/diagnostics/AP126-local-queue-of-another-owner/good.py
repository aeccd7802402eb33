from apportion_policy import KueueLocalQueue, KueueQueue, Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", namespaces=("speech",)),
        Queue(
            id="vision",
            namespaces=("vision",),
            kueue=KueueQueue(
                local_queues=(
                    KueueLocalQueue(name="vision", namespace="speech"),
                    KueueLocalQueue(name="vision", namespace="vision"),
                    KueueLocalQueue(name="vision", namespace="nobodys"),
                )
            ),
        ),
    ),
)
