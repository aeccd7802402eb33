"""A queue that may ask for fractions beside a pool with time slicing, and a cluster whose KAI shares without a queue."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    Mps,
    NodePool,
    Organisation,
    Policy,
    Queue,
    TimeSlicing,
)

L4 = Accelerator(model="l4", count=4)
SLICED = NodePool(  # AP617
    id="sliced", accelerator=L4, max_nodes=4, taints=(GPU_TAINT,), sharing=TimeSlicing(clients=4)
)
SERVED = NodePool(  # AP617
    id="served", accelerator=L4, max_nodes=4, taints=(GPU_TAINT,), sharing=Mps(clients=2)
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(SLICED, SERVED),
    queues=(Queue(id="research", gpu_sharing=True),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="eu", engine=Engine.KAI, engine_version="0.17.0", pools=(SLICED,)),
                Cluster(
                    name="us",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=(SERVED,),
                    kai=KaiSettings(gpu_sharing=True),
                ),
            ),
        ),
    ),
)
