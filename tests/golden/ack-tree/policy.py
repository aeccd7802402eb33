"""Inner queues, bounds left out, a lending limit, a promise of everything, kube-queue's policy and priorities."""

from apportion_policy import (
    GPU_TAINT,
    UNLIMITED,
    Accelerator,
    AckSettings,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
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
        Queue(id="research", guaranteed=Resources(gpu=24, cpu=400, extended={"rdma/hca": UNLIMITED})),
        Queue(
            id="vision",
            parent="research",
            owner="@acme/vision",
            namespaces=("vision-dev", "vision-train"),
            guaranteed=Resources(gpu=16, cpu="300500m", extended={"rdma/hca": UNLIMITED}),
            limit=Resources(gpu=24),
            lending_limit=Resources(gpu=8),
            priority=10,
        ),
        Queue(
            id="speech",
            parent="research",
            namespaces=("speech",),
            limit=Resources(gpu=8, cpu=64),
            priority_classes=("batch",),
        ),
        Queue(id="serving", namespaces=("serving",), guaranteed=Resources(gpu=4), limit=Resources(gpu=4)),
    ),
    priority_classes=(
        PriorityClass(name="batch", value=50, preemptible=True),
        PriorityClass(name="online", value=1000, preemptible=False),
    ),
    node_pools=(POOL, ORDINARY),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="gpu-1",
                    engine=Engine.ACK,
                    engine_version="1.21",
                    pools=(POOL, ORDINARY),
                    ack=AckSettings(queue_policy="Block"),
                ),
            ),
        ),
    ),
)
