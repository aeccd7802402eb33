from team_quotas import VISION  # AP005

from apportion_policy import Organisation, Policy

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(VISION,))
