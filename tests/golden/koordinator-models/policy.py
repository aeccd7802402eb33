"""Two GPU models that quotas tell apart: a quota tree for each."""

from apportion_policy import (
    GPU_TAINT,
    SPREAD,
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
    Topology,
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        NodePool(
            id="h100",
            cpu=190,
            memory="1Ti",
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=8,
            taints=(GPU_TAINT,),
            topology="blocks",
        ),
        NodePool(
            id="l4",
            cpu=24,
            memory="96Gi",
            accelerator=Accelerator(model="l4", count=2),
            max_nodes=16,
            taints=(GPU_TAINT,),
            placement=Placement(gpu=SPREAD),
        ),
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10),
    ),
    queues=(
        Queue(
            id="research",
            guaranteed=Resources(cpu=100, memory="200Gi", gpu={"h100": 48, "l4": 8}),
            limit=Resources(gpu=72),
        ),
        Queue(id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 32})),
        Queue(
            id="speech",
            parent="research",
            namespaces=("speech",),
            guaranteed=Resources(cpu=20, memory="100Gi", gpu={"h100": 16, "l4": 8}),
            limit=Resources(cpu=40, gpu={"h100": 16, "l4": UNLIMITED}),
        ),
        # Its id is the name that the object of `vision` would have among the H100s.
        Queue(id="vision-h100", namespaces=("vision-h100",), pools=("l4", "ordinary"), limit=Resources(gpu={"l4": 4})),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="main",
                    engine=Engine.KOORDINATOR,
                    engine_version="1.8",
                    pools=("h100", "l4", "ordinary"),
                    placement=Placement(cpu=SPREAD),
                    topologies=(
                        Topology(
                            name="blocks", levels=("example.com/block", "example.com/rack", "kubernetes.io/hostname")
                        ),
                    ),
                ),
            ),
        ),
    ),
)
