"""Three GPU models: flavors for each, a queue held to one of them, and a promise and a limit that name none."""

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


def _pool(name: str, model: str, count: int, nodes: int) -> NodePool:
    return NodePool(
        id=name,
        cpu=96,
        memory="960Gi",
        accelerator=Accelerator(model=model, count=count),
        max_nodes=nodes,
        labels={"acme.example/gpu": model},
        taints=(GPU_TAINT,),
    )


POOLS = (
    _pool("a100", "a100", 8, 4),
    _pool("h100-east", "h100", 8, 4),
    _pool("h100-west", "h100", 8, 2),
    _pool("l4", "l4", 2, 8),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(*POOLS, NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10)),
    queues=(
        Queue(
            id="research",
            guaranteed=Resources(cpu=UNLIMITED, memory=UNLIMITED, gpu={"h100": 40, "a100": 8}),
            limit=Resources(gpu={"h100": 48, "a100": 16, "l4": 0}),
        ),
        Queue(id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 24})),
        Queue(
            id="speech",
            parent="research",
            namespaces=("speech",),
            guaranteed=Resources(cpu=UNLIMITED, memory=UNLIMITED, gpu={"h100": 8, "a100": 8}),
            limit=Resources(gpu=32),
            lending_limit=Resources(gpu={"a100": 4}),
        ),
        # 12 GPUs of any model: laid on the model with room for them.
        Queue(id="ads", namespaces=("ads",), guaranteed=Resources(gpu=12)),
        Queue(id="notebooks", namespaces=("notebooks",), pools=("l4", "ordinary"), guaranteed=Resources(gpu={"l4": 8})),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="main",
                    engine=Engine.KUEUE,
                    engine_version="0.18.3",
                    pools=("a100", "h100-east", "h100-west", "l4", "ordinary"),
                ),
            ),
        ),
    ),
)
