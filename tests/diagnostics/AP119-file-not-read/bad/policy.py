from apportion_policy import Organisation, Policy, Queue, collect

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=collect("teams", Queue))
