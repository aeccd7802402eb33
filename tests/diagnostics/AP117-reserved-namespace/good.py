from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="platform", namespaces=("platform",), guaranteed=Resources(gpu=8)),),
)
