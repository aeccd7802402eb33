from apportion_policy import Organisation, Policy, Queue

policy = Policy(organisation=Organisation(name="acme"), queues=(Queue(id="vision"),))
stricter = policy.model_copy(update={"queues": ()})  # AP012
