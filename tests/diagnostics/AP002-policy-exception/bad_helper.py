from apportion_policy import Organisation, Policy, Queue, Resources

GPUS = {"vision": 8, "speech": 4}


def team(name: str) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=GPUS[name]))  # AP002


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision"),
        team("llm"),  # AP002 called here
    ),
)
