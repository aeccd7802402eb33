"""A scheduler with an image, one on a cluster that shares nothing, and KAI's own, whose chart brings the image."""

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

IMAGE = "ghcr.io/kai-scheduler/kai-scheduler/resourcereservation:v0.17.0"
L4 = NodePool(id="l4", accelerator=Accelerator(model="l4", count=4), max_nodes=4, taints=(GPU_TAINT,))


def cluster(name: str, kai: KaiSettings) -> Cluster:
    return Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0", pools=(L4,), kai=kai)


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(L4,),
    queues=(Queue(id="research", gpu_sharing=True),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                cluster("reserving", KaiSettings(live_scheduler=LiveScheduler(reservation_image=IMAGE))),
                cluster("whole", KaiSettings(gpu_sharing=False, live_scheduler=LiveScheduler())),
                cluster("installed", KaiSettings()),
            ),
        ),
    ),
)
