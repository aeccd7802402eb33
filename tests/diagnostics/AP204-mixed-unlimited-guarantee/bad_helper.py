from apportion_policy import UNLIMITED, Organisation, Policy, Queue, Resources


def team(name: str, gpus: int | None) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=UNLIMITED if gpus is None else gpus))  # AP204


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", 8),
        team("batch", None),  # AP204 called here
    ),
)
