from apportion_policy import Organisation, Policy, Queue

staging = Policy(organisation=Organisation(name="staging"), queues=(Queue(id="vision"),))  # AP012
production = Policy(organisation=Organisation(name="production"), queues=(Queue(id="vision"),))
