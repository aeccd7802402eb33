"""Quotas and queues of ACK for the RayJobs of several departments, which lend their idle quota to each other.

The amounts of `video` are the guide's. Interns have no guarantee: they use idle capacity of the algorithm teams, which
is reclaimed on demand. No queue policy is set, so kube-queue creates a Queue with the policy Round for each quota.
`literal.py` and `literal.yaml` have the guide's original objects.
"""

from machines import DEFAULT, GPU_NODES

from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
)

NOTHING = Resources(cpu=0, memory=0, gpu=0)

ALGORITHM = Queue(
    id="algorithm",
    owner="@acme/algorithm",
    limit=Resources(cpu=48, memory="96Gi", gpu=8),
    children=(
        Queue(
            id="video",
            namespaces=("video",),
            guaranteed=Resources(cpu=12, memory="12Gi", gpu=2),
            limit=Resources(cpu=14, memory="14Gi", gpu=4),
        ),
        Queue(
            id="text",
            namespaces=("algorithm-text",),
            guaranteed=Resources(cpu=12, memory="12Gi", gpu=2),
            limit=Resources(cpu=14, memory="14Gi", gpu=4),
        ),
        Queue(
            id="intern-video",
            namespaces=("intern-video",),
            guaranteed=NOTHING,
            limit=Resources(cpu=8, memory="16Gi", gpu=2),
        ),
        Queue(
            id="intern-text",
            namespaces=("intern-text",),
            guaranteed=NOTHING,
            limit=Resources(cpu=8, memory="16Gi", gpu=2),
        ),
    ),
)
INFRASTRUCTURE = Queue(
    id="infrastructure",
    owner="@acme/infrastructure",
    children=(
        Queue(
            id="infrastructure-devops",
            namespaces=("infrastructure-devops",),
            guaranteed=Resources(cpu=8, memory="16Gi", gpu=0),
            limit=Resources(cpu=16, memory="32Gi", gpu=0),
        ),
    ),
)
DEVOPS = Queue(
    id="devops",
    owner="@acme/devops",
    namespaces=("devops",),
    guaranteed=Resources(cpu=8, memory="16Gi", gpu=0),
    limit=Resources(cpu=16, memory="32Gi", gpu=0),
)

# These classes determine the order in which jobs are dequeued, and which pods are preempted first on reclaim.
URGENT = PriorityClass(name="urgent", value=1000, preemptible=True, description="Goes before the others of its queue")
NORMAL = PriorityClass(name="normal", value=500, preemptible=True, global_default=True, description="Everything else")

policy = Policy(
    organisation=Organisation(name="ray-on-ack", owner="@acme/platform"),
    queues=(ALGORITHM, INFRASTRUCTURE, DEVOPS),
    priority_classes=(URGENT, NORMAL),
    node_pools=(DEFAULT, GPU_NODES),
    environments=(
        Environment(
            name="demo",
            clusters=(Cluster(name="ray", engine=Engine.ACK, engine_version="1.21", pools=(DEFAULT, GPU_NODES)),),
        ),
    ),
)
