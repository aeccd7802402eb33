from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="platform", namespaces=("kube-system",), guaranteed=Resources(gpu=8)),  # AP117
    ),
)
