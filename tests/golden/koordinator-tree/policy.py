"""Inner queues, bounds left out, weights by resource, a queue that lends nothing, a topology, mixed placement."""

from apportion_policy import (
    GPU_TAINT,
    SPREAD,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Placement,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    Topology,
    Weight,
)

POOL = NodePool(
    id="h100",
    cpu=190,
    memory="2000Gi",
    accelerator=Accelerator(model="h100", count=8),
    max_nodes=4,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=5)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu=24, cpu=400), over_quota_weight=3),
        Queue(
            id="vision",
            parent="research",
            namespaces=("vision-dev", "vision-train"),
            guaranteed=Resources(gpu=16, cpu="300500m"),
            limit=Resources(gpu=24),
            over_quota_weight=Weight(gpu="2.5"),
        ),
        Queue(
            id="speech",
            parent="research",
            namespaces=("speech",),
            limit=Resources(gpu=8, cpu=64),
            priority_classes=("train",),
        ),
        Queue(
            id="serving",
            namespaces=("serving",),
            guaranteed=Resources(gpu=4),
            limit=Resources(gpu=4),
            lending_limit=Resources(gpu=0),
        ),
    ),
    priority_classes=(
        PriorityClass(name="train", value=50, preemptible=True),
        PriorityClass(name="online", value=1000, preemptible=False),
    ),
    node_pools=(POOL, ORDINARY),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="gpu-1",
                    engine=Engine.KOORDINATOR,
                    engine_version="1.8",
                    pools=(POOL, ORDINARY),
                    placement=Placement(cpu=SPREAD),
                    topologies=(Topology(name="fabric", levels=("example.com/spine", "kubernetes.io/hostname")),),
                ),
            ),
        ),
    ),
)
