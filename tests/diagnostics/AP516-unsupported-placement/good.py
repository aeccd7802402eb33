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
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10),
        NodePool(
            id="l4",
            cpu=24,
            memory="96Gi",
            accelerator=Accelerator(model="l4", count=2),
            max_nodes=16,
            taints=(GPU_TAINT,),
        ),
    ),
    queues=(Queue(id="vision", namespaces=("vision",)),),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.VOLCANO, engine_version="1.16.0", pools=("l4", "ordinary")),),
        ),
    ),
)
