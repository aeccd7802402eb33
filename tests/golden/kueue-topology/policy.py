"""A topology on machines that are there: one resource group, so that a pod finds all it asks for on one flavor."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
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
            cpu=192,
            memory="1800Gi",
            accelerator=Accelerator(model="h100", count=8),
            min_nodes=8,
            max_nodes=8,
            taints=(GPU_TAINT,),
            topology="blocks",
        ),
        NodePool(id="ordinary", cpu=32, memory="128Gi", min_nodes=4, max_nodes=4),
    ),
    queues=(
        Queue(
            id="vision",
            namespaces=("vision",),
            guaranteed=Resources(cpu=800, memory="7Ti", gpu=32),
            limit=Resources(cpu=1200, gpu=48),
        ),
        Queue(id="web", namespaces=("web",), guaranteed=Resources(cpu=64, memory="256Gi"), limit=Resources(gpu=0)),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="main",
                    engine=Engine.KUEUE,
                    engine_version="0.18.3",
                    pools=("h100", "ordinary"),
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
