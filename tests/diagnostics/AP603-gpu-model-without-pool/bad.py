"""A model that nothing has, one that staging asks for and lacks, and amounts that dev has no use for."""

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
    QueueOverride,
    Resources,
)

H100 = NodePool(
    id="h100", provider=Fixed(), accelerator=Accelerator(model="h100", count=8), max_nodes=8, taints=(GPU_TAINT,)
)
A100 = NodePool(
    id="a100", provider=Fixed(), accelerator=Accelerator(model="a100", count=8), max_nodes=8, taints=(GPU_TAINT,)
)


def cluster(*pools: NodePool) -> Cluster:
    return Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=pools)


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, A100),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu={"h100": 48}), limit=Resources(gpu={"h1000": 56})),  # AP603
        Queue(id="product", guaranteed=Resources(gpu={"a100": 32})),
    ),
    environments=(
        Environment(name="dev", clusters=(cluster(A100),)),  # AP603
        Environment(
            name="staging",
            clusters=(cluster(H100),),
            overrides=(
                QueueOverride(queue="product", guaranteed=Resources(gpu={"a100": 8})),  # AP603
            ),
        ),
        Environment(name="prod", clusters=(cluster(H100, A100),)),
    ),
)
