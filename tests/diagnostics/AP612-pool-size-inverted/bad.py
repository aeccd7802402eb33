from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
)

H100 = NodePool(  # AP612
    id="h100",
    provider=Gke(),
    accelerator=Accelerator(model="h100", count=8),
    max_nodes=0,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Gke(), min_nodes=10, max_nodes=3)  # AP612

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, ORDINARY),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu={"h100": 12})),
        Queue(id="product", guaranteed=Resources(gpu={"h100": 8})),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, ORDINARY)),),
        ),
    ),
)
