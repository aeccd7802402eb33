import os

from apportion_policy import Organisation, Policy, Queue

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(Queue(id="research"),))
os._exit(3)
