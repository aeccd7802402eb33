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
    machine_type="a3-highgpu-8g",
    cpu=192,
    memory="1800Gi",
    accelerator=Accelerator(model="h100", count=8),
    max_nodes=10,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Gke(), machine_type="n2-standard-32", cpu=30, memory="120Gi", max_nodes=10)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, ORDINARY),
    queues=(
        Queue(id="research", guaranteed=Resources(cpu=200, memory="2Ti", gpu={"h100": 48})),
        Queue(id="product", guaranteed=Resources(cpu=200, memory="2Ti", gpu={"h100": 32})),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, ORDINARY)),  # AP602
            ),
        ),
    ),
)
