from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KueueQueue,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
)

QUOTA = {"name": "nvidia.com/gpu", "nominalQuota": 24}
GROUP = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": [QUOTA]}]}

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
    ),
    queues=(
        Queue(
            id="vision",
            namespaces=("vision",),
            guaranteed=Resources(gpu=16),
            kueue=KueueQueue(spec={"resourceGroups": [GROUP]}),  # AP520
        ),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KUEUE, engine_version="0.18", pools=("h100",)),),
        ),
    ),
)
