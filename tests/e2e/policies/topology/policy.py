"""Two teams on four machines in two blocks, with Kueue's topology-aware scheduling."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
    Topology,
)

GPU = NodePool(
    id="gpu",
    provider=Fixed(),
    cpu=96,
    memory="960Gi",
    accelerator=Accelerator(model="a100", count=8, memory="80Gi"),
    min_nodes=4,
    max_nodes=4,
    taints=(GPU_TAINT,),
    topology="blocks",
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=32, memory="128Gi", min_nodes=1, max_nodes=1)

policy = Policy(
    organisation=Organisation(name="lab", owner="@lab/platform"),
    queues=(
        Queue(
            id="vision",
            owner="@lab/vision",
            namespaces=("vision",),
            guaranteed=Resources(gpu=24, cpu=280, memory="2800Gi"),
            limit=Resources(gpu=32),
        ),
        Queue(
            id="web",
            owner="@lab/web",
            namespaces=("web",),
            guaranteed=Resources(cpu=24, memory="96Gi"),
            limit=Resources(gpu=0),
        ),
    ),
    node_pools=(GPU, ORDINARY),
    environments=(
        Environment(
            name="on-kueue",
            clusters=(
                Cluster(
                    name="one",
                    engine=Engine.KUEUE,
                    engine_version="0.18.3",
                    pools=(GPU, ORDINARY),
                    topologies=(Topology(name="blocks", levels=("lab.example/block", "kubernetes.io/hostname")),),
                ),
            ),
        ),
    ),
)
