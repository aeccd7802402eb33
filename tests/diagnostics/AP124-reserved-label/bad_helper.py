from apportion_policy import Organisation, Policy, Queue


def team(name: str, **labels: str) -> Queue:
    return Queue(id=name, labels={key.replace("_", "/"): value for key, value in labels.items()})  # AP124


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(team("vision", **{"apportion.dev_queue": "speech"}),),  # AP124 called here
)
