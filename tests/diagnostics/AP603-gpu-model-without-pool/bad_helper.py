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

RACK = NodePool(
    id="rack", provider=Fixed(), accelerator=Accelerator(model="l4", count=4), max_nodes=4, taints=(GPU_TAINT,)
)


def team(name: str, model: str) -> Queue:
    return Queue(id=name, guaranteed=Resources(gpu={model: 4}))  # AP603


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(RACK,),
    queues=(
        team("vision", "l4"),
        team("speech", "l40s"),  # AP603 called here
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="racks", engine=Engine.KAI, engine_version="0.17.0", pools=(RACK,)),),
        ),
    ),
)
