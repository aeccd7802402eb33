from apportion_policy import KueueLocalQueue, KueueQueue, Organisation, Policy, Queue


def entrance(namespace: str) -> KueueQueue:
    return KueueQueue(local_queues=(KueueLocalQueue(name="x", namespace=namespace),))  # AP126


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="speech", namespaces=("speech",)),
        Queue(id="vision", owner="@acme/vision", kueue=entrance("speech"), namespaces=("vision",)),  # AP126 called here
    ),
)
