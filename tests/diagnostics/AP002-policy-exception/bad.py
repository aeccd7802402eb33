from apportion_policy import Organisation, Policy, Queue, Resources

GPUS = {"vision": 8, "speech": 4}

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=tuple(Queue(id=team, guaranteed=Resources(gpu=GPUS[team])) for team in ("vision", "llm")),  # AP002
)
