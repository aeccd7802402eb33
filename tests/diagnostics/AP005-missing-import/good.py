from teams import VISION

from apportion_policy import Organisation, Policy

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(VISION,))
