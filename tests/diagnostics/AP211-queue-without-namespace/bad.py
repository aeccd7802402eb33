"""A team that is promised GPUs and has no namespace, and one that is promised nothing, beside one that has one."""

from apportion_policy import Organisation, Policy, Queue, Resources

RESEARCH = Queue(id="research", guaranteed=Resources(gpu={"h100": 12}))
VISION = Queue(id="vision", parent=RESEARCH, namespaces=("vision",), guaranteed=Resources(gpu={"h100": 4}))
SPEECH = Queue(id="speech", parent=RESEARCH, guaranteed=Resources(gpu={"h100": 8}))  # AP211
INTERNS = Queue(id="interns", parent=RESEARCH)  # AP211

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(RESEARCH, VISION, SPEECH, INTERNS),
)
