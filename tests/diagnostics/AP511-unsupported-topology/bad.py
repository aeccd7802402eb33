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
            cpu=190,
            memory="1Ti",
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=8,
            taints=(GPU_TAINT,),
            topology="racks",
        ),
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10),
    ),
    queues=(Queue(id="vision", namespaces=("vision",), limit=Resources(gpu=16)),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="gpu-1",
                    engine=Engine.NATIVE,
                    engine_version="1.34",
                    pools=("h100", "ordinary"),
                    topologies=(
                        Topology(name="racks", levels=("example.com/rack", "kubernetes.io/hostname")),  # AP511
                    ),
                ),
            ),
        ),
    ),
)
