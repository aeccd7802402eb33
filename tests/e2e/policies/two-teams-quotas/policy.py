"""Two teams on clusters of ACK, Koordinator, Kueue and Volcano, for tests of admission."""

from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, PriorityClass, Queue, Resources

policy = Policy(
    organisation=Organisation(name="lab", owner="@lab/platform"),
    queues=(
        Queue(
            id="research",
            owner="@lab/leads",
            guaranteed=Resources(gpu=8),
            children=(
                Queue(id="alpha", owner="@lab/alpha", namespaces=("alpha",), guaranteed=Resources(gpu=4)),
                Queue(id="beta", owner="@lab/beta", namespaces=("beta",), guaranteed=Resources(gpu=4)),
            ),
        ),
    ),
    priority_classes=(
        PriorityClass(name="batch", value=10, preemptible=True),
        PriorityClass(name="serving", value=1000, preemptible=False, queues=("beta",)),
    ),
    environments=(
        Environment(
            name="queued",
            clusters=(
                Cluster(name="ack", engine=Engine.ACK, engine_version="1.21"),
                Cluster(name="koordinator", engine=Engine.KOORDINATOR, engine_version="1.8"),
                Cluster(name="kueue", engine=Engine.KUEUE, engine_version="0.18.3"),
                Cluster(name="volcano", engine=Engine.VOLCANO, engine_version="1.16"),
            ),
        ),
    ),
)
