from apportion_policy import Organisation, Policy, Queue, Resources


def team(name: str) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu=4))  # AP105


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("a-research-group-with-a-name-longer-than-the-sixty-three-characters-of-a-label"),
        team("a-research-group-with-a-name-longer-than-the-sixty-thr-e48d3df0"),  # AP105 called here
    ),
)
