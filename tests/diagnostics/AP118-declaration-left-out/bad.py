from apportion_policy import Organisation, Policy, Queue, Resources

RESEARCH = Queue(id="research", guaranteed=Resources(gpu=16), namespaces=("research",))
VISION = Queue(id="vision", guaranteed=Resources(gpu=8), namespaces=("vision",))  # AP118

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(RESEARCH,))
