from apportion_policy import Organisation, Policy, Queue, Resources


def department(name: str, gpus: int, *teams: Queue) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=gpus), children=teams)  # AP201


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        department(  # AP201 called here
            "research",
            8,
            Queue(id="llm", guaranteed=Resources(gpu=6)),
            Queue(id="vision", guaranteed=Resources(gpu=6)),
        ),
    ),
)
