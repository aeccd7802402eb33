"""A tree on machines of one GPU model: additive quotas, limits, lending, weights, classes and another device."""

from apportion_policy import (
    GPU_TAINT,
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KueueSettings,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    Taint,
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        NodePool(
            id="gpu",
            cpu=96,
            memory="960Gi",
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=8,
            taints=(GPU_TAINT,),
        ),
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10, taints=(Taint(key="batch"),)),
    ),
    priority_classes=(
        PriorityClass(name="batch", value=50, preemptible=True, global_default=True, description="Training"),
        PriorityClass(name="serving", value=100, preemptible=False),
    ),
    queues=(
        Queue(
            id="research",
            title="Research",
            owner="@acme/research",
            guaranteed=Resources(cpu=600, memory="6Ti", gpu=48, extended={"rdma/hca": 8}),
            limit=Resources(gpu=56),
            over_quota_weight=2,
        ),
        Queue(
            id="vision",
            parent="research",
            namespaces=("vision", "vision-lab"),
            guaranteed=Resources(cpu=300, memory="3Ti", gpu=32, extended={"rdma/hca": 8}),
            limit=Resources(gpu=40, memory=UNLIMITED),
            lending_limit=Resources(gpu=8),
            over_quota_weight="0.5",
        ),
        Queue(
            id="speech",
            parent="research",
            namespaces=("speech",),
            guaranteed=Resources(cpu="150500m", memory="1Ti", gpu=8),
            labels={"cost-centre": "42"},
        ),
        # Nothing but work that may not be evicted: nothing is evicted inside of it.
        Queue(
            id="serving",
            namespaces=("serving",),
            guaranteed=Resources(cpu=64, memory="512Gi", gpu=8),
            limit=Resources(cpu=64, memory="512Gi", gpu=8),
            priority_classes=("serving",),
        ),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="main",
                    engine=Engine.KUEUE,
                    engine_version="0.18.3",
                    pools=("gpu", "ordinary"),
                    kueue=KueueSettings(queueing_strategy="StrictFIFO", wait_for_pods_ready="10m"),
                ),
            ),
        ),
    ),
)
