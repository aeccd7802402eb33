from apportion_policy import Organisation, Policy, Queue

template = Policy(organisation=Organisation(name="production"))
policy = template.model_copy(update={"queues": (Queue(id="vision"),)})
