"""MIG beside KAI's sharing; time slicing where KAI shares nothing; time slicing under an engine that counts devices."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    Mig,
    NodePool,
    Organisation,
    Policy,
    Queue,
    TimeSlicing,
)

L4 = Accelerator(model="l4", count=4)
SLICED = NodePool(id="sliced", accelerator=L4, max_nodes=4, taints=(GPU_TAINT,), sharing=TimeSlicing(clients=4))
PARTED = NodePool(
    id="parted",
    accelerator=Accelerator(model="a100", count=8),
    max_nodes=4,
    taints=(GPU_TAINT,),
    sharing=Mig(profile="1g.5gb", instances=7),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(SLICED, PARTED),
    queues=(Queue(id="research", gpu_sharing=True),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="parts", engine=Engine.KAI, engine_version="0.17.0", pools=(PARTED,)),
                Cluster(
                    name="whole",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=(SLICED,),
                    kai=KaiSettings(gpu_sharing=False),
                ),
                Cluster(name="batch", engine=Engine.KUEUE, engine_version="0.18.0", pools=(SLICED,)),
            ),
        ),
    ),
)
