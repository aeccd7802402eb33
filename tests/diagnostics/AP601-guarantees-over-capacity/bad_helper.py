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
    id="rack",
    provider=Fixed(),
    cpu=64,
    memory="512Gi",
    accelerator=Accelerator(model="a100", count=4),
    min_nodes=4,
    max_nodes=4,
    taints=(GPU_TAINT,),
)


def site(name: str, share: str) -> Cluster:
    return Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0", pools=(RACK,), share=share)  # AP601


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(RACK,),
    queues=(Queue(id="research", guaranteed=Resources(cpu=64, memory="512Gi", gpu=24)),),
    environments=(
        Environment(name="dev", clusters=(site("lab", "1/4"),)),
        Environment(name="prod", clusters=(site("racks", "1"),)),  # AP601 called here
    ),
)
