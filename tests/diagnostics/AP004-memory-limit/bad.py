from apportion_policy import Organisation, Policy, Queue

allotment = [0] * 10**10  # AP004

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(Queue(id="research"),))
