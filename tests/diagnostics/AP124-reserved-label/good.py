from apportion_policy import Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", labels={"acme.example/team": "vision", "team": "vision", "mykubernetes.io/x": "y"}),),
)
