from apportion_policy import Organisation, Policy, Queue, Resources


def amounts(gpus: int) -> Resources:
    return Resources(memory=8 * gpus, gpu=gpus)  # AP210


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            guaranteed=amounts(8),  # AP210 called here
        ),
    ),
)
