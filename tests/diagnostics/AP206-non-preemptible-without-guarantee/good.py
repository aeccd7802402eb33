from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        # The default classes, chosen by nobody.
        Queue(id="interns"),
        Queue(id="vision", guaranteed=Resources(cpu=64, memory="1Ti", gpu=8), priority_classes=("train", "build")),
        # It says nothing of GPUs and is taken to run none.
        Queue(id="etl", guaranteed=Resources(cpu=64, memory="1Ti"), priority_classes=("train", "build")),
        Queue(id="batch", priority_classes=("train", "build-preemptible")),
    ),
)
