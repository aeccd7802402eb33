from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str, cores: int) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=8), limit=Resources(cpu=cores, gpu=8))  # AP205


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", 64),
        team("speech", 0),  # AP205 called here
    ),
)
