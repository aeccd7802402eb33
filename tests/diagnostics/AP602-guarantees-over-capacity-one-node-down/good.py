"""What is left without one node suffices."""

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
    memory="1800Gi",
    accelerator=Accelerator(model="h100", count=8),
    max_nodes=11,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Gke(), memory="120Gi", max_nodes=10)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, ORDINARY),
    queues=(
        Queue(id="research", guaranteed=Resources(cpu=20_000, memory="2Ti", gpu={"h100": 48})),
        Queue(id="product", guaranteed=Resources(cpu=20_000, memory="2Ti", gpu={"h100": 32})),
    ),
    environments=(
        Environment(name="dev", clusters=(Cluster(name="lab", engine=Engine.KAI, engine_version="0.17.0"),)),
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, ORDINARY)),),
        ),
    ),
)
