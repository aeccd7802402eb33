from apportion_policy import (
    GPU_TAINT,
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
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
        ),
        NodePool(
            id="a100",
            cpu=88,
            memory="1Ti",
            accelerator=Accelerator(model="a100", count=8),
            max_nodes=8,
            taints=(GPU_TAINT,),
        ),
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10),
    ),
    queues=(
        Queue(id="speech", namespaces=("speech",), guaranteed=Resources(gpu=UNLIMITED)),
        Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu=0)),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.ACK, engine_version="1.21", pools=("a100", "h100", "ordinary")),
            ),
        ),
    ),
)
