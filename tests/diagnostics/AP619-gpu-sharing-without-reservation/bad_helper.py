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


def cluster(name: str) -> Cluster:
    return Cluster(
        name=name,
        engine=Engine.KAI,
        engine_version="0.17.0",
        pools=(L4,),
        kai=KaiSettings(live_scheduler=LiveScheduler()),  # AP619
    )


CLUSTERS = (
    cluster("eu"),  # AP619 called here
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(L4,),
    queues=(Queue(id="research", gpu_sharing=True),),
    environments=(Environment(name="prod", clusters=CLUSTERS),),
)
