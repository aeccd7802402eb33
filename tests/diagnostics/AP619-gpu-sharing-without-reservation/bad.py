"""A queue that may ask for fractions, and a cluster that shares without a queue; neither scheduler has an image."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    LiveScheduler,
    NodePool,
    Organisation,
    Policy,
    Queue,
)

L4 = NodePool(id="l4", accelerator=Accelerator(model="l4", count=4), max_nodes=4, taints=(GPU_TAINT,))

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(L4,),
    queues=(Queue(id="research", gpu_sharing=True),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="eu",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=(L4,),
                    kai=KaiSettings(live_scheduler=LiveScheduler()),  # AP619
                ),
                Cluster(
                    name="us",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=(L4,),
                    kai=KaiSettings(gpu_sharing=True, live_scheduler=LiveScheduler()),  # AP619
                ),
            ),
        ),
    ),
)
