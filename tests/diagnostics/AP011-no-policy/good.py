from apportion_policy import Organisation, Policy, Queue, Resources

vision = Queue(id="vision", guaranteed=Resources(gpu=8))
acme = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(vision,))
