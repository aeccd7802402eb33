"""One shard: three levels, every way to write an amount, classes that say otherwise than their number."""

from datetime import date

from apportion_policy import (
    BUILD,
    TRAIN,
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Override,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    Weight,
)

URGENT = PriorityClass(name="urgent", value=900, preemptible=True, queues=("vision",), description="Deadlines")
HELD = PriorityClass(name="held", value=10, preemptible=False, queues=("research",))

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(TRAIN, BUILD, URGENT, HELD),
    node_pools=(
        NodePool(id="h100", cpu=190, memory="1Ti", accelerator=Accelerator(model="h100", count=8), max_nodes=8),
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10),
    ),
    queues=(
        Queue(
            id="research",
            title="Research",
            guaranteed=Resources(cpu=200, memory="1Ti", gpu=32),
            limit=Resources(cpu=400, memory=UNLIMITED, gpu=48),
            preempt_min_runtime="5m",
            children=(
                Queue(
                    id="vision",
                    owner="@acme/vision-leads",
                    namespaces=("vision", "vision-dev"),
                    guaranteed=Resources(cpu="1500m", memory="1Gi", gpu={"h100": 16}),
                    limit=Resources(gpu={"h100": 40}),
                    over_quota_weight=Weight(cpu=1, memory="0.5", gpu=3),
                    priority=200,
                    reclaim_min_runtime="1h30m",
                    gpu_sharing=True,
                    overrides=(
                        Override(
                            begin=date(2026, 11, 1),
                            end=date(2026, 12, 1),
                            reason="CVPR",
                            owner="@acme/research-leads",
                            guaranteed=Resources(gpu={"h100": 20}),
                        ),
                    ),
                ),
                Queue(
                    id="speech",
                    namespaces=("speech",),
                    guaranteed=Resources(memory="1500M", gpu="2.5"),
                    limit=Resources(cpu=UNLIMITED, gpu=4),
                    over_quota_weight=0,
                    priority_classes=(TRAIN,),
                    labels={"cost-centre": "4711"},
                ),
            ),
        ),
        Queue(
            id="interns-of-the-summer-from-every-department-and-of-every-year-that-there-has-been",
            namespaces=("interns",),
        ),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="main", engine=Engine.KAI, engine_version="0.17.0", pools=("h100", "ordinary")),),
        ),
    ),
)
