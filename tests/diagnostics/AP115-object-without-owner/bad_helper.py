from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, owner: str | None = None) -> Queue:
    return Queue(  # AP115
        id=name,
        owner=owner,
        namespaces=(name,),
        guaranteed=Resources(cpu=32, memory="256Gi", gpu=4),
    )


policy = Policy(
    organisation=Organisation(name="acme"),
    queues=(
        team("vision", "@acme/vision-leads"),
        team("speech"),  # AP115 called here
    ),
)
