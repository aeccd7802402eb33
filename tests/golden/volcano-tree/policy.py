"""One tree of three levels: what is lent and what is kept back, classes, another device."""

from apportion_policy import (
    BINPACK,
    BUILD,
    SPREAD,
    TRAIN,
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Placement,
    Policy,
    Queue,
    Resources,
    VolcanoSettings,
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(TRAIN, BUILD),
    node_pools=(
        NodePool(id="h100", cpu=190, memory="1Ti", accelerator=Accelerator(model="h100", count=8), max_nodes=8),
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10),
    ),
    queues=(
        Queue(
            id="research",
            title="Research",
            guaranteed=Resources(cpu=200, memory="1Ti", gpu=32),
            limit=Resources(cpu=400, memory=UNLIMITED, gpu=48),
            children=(
                Queue(
                    id="vision",
                    owner="@acme/vision-leads",
                    namespaces=("vision", "vision-dev"),
                    guaranteed=Resources(cpu="1500m", memory="1Gi", gpu={"h100": 16}, extended={"rdma/hca": 4}),
                    lending_limit=Resources(gpu=12),
                    limit=Resources(gpu={"h100": 40}),
                    over_quota_weight=3,
                    priority=200,
                ),
                Queue(
                    id="speech",
                    namespaces=("speech",),
                    guaranteed=Resources(memory="1500M", gpu=2),
                    lending_limit=Resources(gpu=0),
                    limit=Resources(cpu=40, gpu=4),
                    over_quota_weight="0.5",
                    priority_classes=(TRAIN,),
                    labels={"cost-centre": "4711"},
                ),
            ),
        ),
        # Volcano has a queue of this name.
        Queue(id="default", namespaces=("interns",)),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="main",
                    engine=Engine.VOLCANO,
                    engine_version="1.12.2",
                    pools=("h100", "ordinary"),
                    placement=Placement(gpu=BINPACK, cpu=SPREAD),
                    volcano=VolcanoSettings(dequeue_strategy="fifo"),
                ),
            ),
        ),
    ),
)
