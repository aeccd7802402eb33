from apportion_policy import Organisation, Override, Policy, Queue, Resources


def queue(name: str) -> Queue:
    return Queue(  # AP118
        id=name,
        guaranteed=Resources(gpu=8),
        namespaces=(name,),
        overrides=(
            Override(
                begin="2026-11-01", end="2026-12-01", reason="paper", owner="@acme/a", guaranteed=Resources(gpu=12)
            ),
        ),
    )


RESEARCH = queue("research")
queue("vision")  # AP118 called here

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(RESEARCH,))
