"""dev has other GPUs than prod and says so; an override for h200 is over; the sandbox does not list its pools."""

from datetime import date

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Override,
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
        Queue(
            id="research",
            guaranteed=Resources(gpu={"h100": 48}),
            overrides=(
                Override(
                    begin=date(2026, 1, 1),
                    end=date(2026, 2, 1),
                    reason="A loan",
                    owner="@acme/research",
                    guaranteed=Resources(gpu={"h200": 8}),
                ),
            ),
        ),
    ),
    environments=(
        Environment(
            name="dev",
            clusters=(cluster(A100),),
            overrides=(QueueOverride(queue="research", guaranteed=Resources(gpu={"a100": 8})),),
        ),
        Environment(name="sandbox", clusters=(cluster(),)),
        Environment(name="prod", clusters=(cluster(H100),)),
    ),
)
