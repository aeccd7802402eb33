from apportion_policy import Organisation, Policy, Queue, Resources


def queue(name: str, namespace: str) -> Queue:
    return Queue(  # AP117
        id=name,
        namespaces=(namespace,),
        guaranteed=Resources(gpu=8),
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        queue("platform", "kube-system"),  # AP117 called here
    ),
)
