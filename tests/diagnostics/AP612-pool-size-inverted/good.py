"""A pool of fixed size, and one without nodes yet on which no guarantee rests."""

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

H100 = NodePool(
    id="h100",
    provider=Gke(),
    accelerator=Accelerator(model="h100", count=8),
    min_nodes=4,
    max_nodes=4,
    taints=(GPU_TAINT,),
)
A100 = NodePool(
    id="a100", provider=Gke(), accelerator=Accelerator(model="a100", count=8), max_nodes=0, taints=(GPU_TAINT,)
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, A100),
    queues=(Queue(id="research", guaranteed=Resources(gpu={"h100": 12})),),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, A100)),),
        ),
    ),
)
