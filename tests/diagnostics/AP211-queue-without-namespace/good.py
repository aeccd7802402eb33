"""Inner queues have none; a LocalQueue is declared; a policy of quotas alone binds no namespace."""

from apportion_policy import KueueLocalQueue, KueueQueue, Organisation, Policy, Queue

RESEARCH = Queue(id="research")
VISION = Queue(id="vision", parent=RESEARCH, namespaces=("vision",))
SPEECH = Queue(
    id="speech",
    parent=RESEARCH,
    kueue=KueueQueue(local_queues=(KueueLocalQueue(name="speech", namespace="speech"),)),
)

policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(RESEARCH, VISION, SPEECH))
