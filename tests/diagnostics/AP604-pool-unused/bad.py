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
)

H100 = NodePool(
    id="h100", provider=Fixed(), accelerator=Accelerator(model="h100", count=8), max_nodes=8, taints=(GPU_TAINT,)
)
A100 = NodePool(  # AP604
    id="a100",
    provider=Fixed(),
    accelerator=Accelerator(model="a100", count=8),
    max_nodes=8,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), max_nodes=4)
FORGOTTEN = NodePool(id="forgotten", provider=Fixed(), max_nodes=4)  # AP604

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, A100, ORDINARY, FORGOTTEN),
    queues=(
        Queue(
            id="research",
            guaranteed=Resources(gpu={"h100": 48}),
            pools=(H100,),
            children=(Queue(id="vision"), Queue(id="speech", pools=(H100, ORDINARY))),
        ),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, A100, ORDINARY)),),
        ),
    ),
)
