from apportion_policy import Organisation, Policy, Queue, Resources

SMALL = Resources(gpu=8)
LARGE = Resources(gpu=64)
TEMPLATE = Queue(id="template", guaranteed=SMALL)
VISION = TEMPLATE.model_copy(update={"id": "vision", "namespaces": ("vision",)})

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(VISION,))
