from apportion_policy import Organisation, Policy, Queue

for number in range(40_000_000):
    print("looking at team", number)

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(Queue(id="research"),))
