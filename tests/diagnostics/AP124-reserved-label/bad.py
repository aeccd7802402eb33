from apportion_policy import Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(  # AP124
            id="vision",
            namespaces=("vision",),
            labels={"acme.example/team": "vision", "pod-security.kubernetes.io/enforce": "privileged"},
        ),
        Queue(id="speech", labels={"kueue.x-k8s.io/managed": "true", "istio-injection": "disabled"}),  # AP124
    ),
)
