"""No queueing engine, GPUs of two models: profiles for each kind of work, labels of the racks, templates to copy."""

from apportion_policy import (
    BUILD,
    GPU_TAINT,
    SPREAD,
    TRAIN,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Placement,
    Policy,
    Queue,
    Resources,
)

POOLS = (
    NodePool(id="a100", accelerator=Accelerator(model="a100", count=8), max_nodes=2, taints=(GPU_TAINT,)),
    NodePool(
        id="l4",
        accelerator=Accelerator(model="l4", count=1),
        max_nodes=4,
        taints=(GPU_TAINT,),
        placement=Placement(gpu=SPREAD),
    ),
    NodePool(id="ordinary", max_nodes=3, labels={"acme.example/hall": "2"}),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(TRAIN, BUILD),
    queues=(
        Queue(id="training", namespaces=("training",), limit=Resources(gpu=16)),
        Queue(id="serving", namespaces=("serving",), pools=("l4", "ordinary")),
        Queue(id="office", namespaces=("office",), limit=Resources(cpu=16, gpu=0)),
    ),
    node_pools=POOLS,
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="racks",
                    engine=Engine.NATIVE,
                    engine_version="1.34",
                    pools=POOLS,
                    placement=Placement(cpu=SPREAD),
                ),
            ),
        ),
    ),
)
