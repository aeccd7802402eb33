from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    NodePool,
    Organisation,
    Policy,
    Queue,
    TimeSlicing,
)


def pool(model: str, clients: int | None) -> NodePool:
    return NodePool(  # AP617
        id=model,
        accelerator=Accelerator(model=model, count=8),
        max_nodes=4,
        taints=(GPU_TAINT,),
        sharing=None if clients is None else TimeSlicing(clients=clients),
    )


POOLS = (
    pool("a100", None),
    pool("l4", 4),  # AP617 called here
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=POOLS,
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="eu",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=POOLS,
                    kai=KaiSettings(gpu_sharing=True),
                ),
            ),
        ),
    ),
)
