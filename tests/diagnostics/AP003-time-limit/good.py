from apportion_policy import Organisation, Policy, Queue

queues = [Queue(id="team-0")]
while len(queues) < 12:
    queues.append(Queue(id=f"team-{len(queues)}"))

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=tuple(queues))
