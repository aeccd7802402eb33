from apportion_policy import Organisation, Policy, Queue

policy = Policy(organisation=Organisation(name="acme"), queues=(Queue(id="vision"),))
_later = Policy(organisation=Organisation(name="acme"), queues=(Queue(id="vision"), Queue(id="speech")))  # AP012
