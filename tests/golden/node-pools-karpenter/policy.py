"""Karpenter: machines of a reservation, machines that are always there, and a class that somebody else made."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Karpenter,
    Maintenance,
    MaintenanceWindow,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
)

TAGS = {"karpenter.sh/discovery": "prod"}
GPUS = Karpenter(
    node_class="gpu",
    role="KarpenterNodeRole-prod",
    ami_alias="al2023@v20260101",
    subnet_tags=TAGS,
    security_group_tags=TAGS,
)
NIGHTS = Maintenance(
    window=MaintenanceWindow(start="2026-01-03T22:30:00Z", end="2026-01-04T04:00:00Z", recurrence="FREQ=DAILY")
)

POOLS = (
    NodePool(
        id="training",
        provider=GPUS,
        machine_type="p5.48xlarge",
        accelerator=Accelerator(model="h100", count=8),
        max_nodes=8,
        reservation="cr-0123456789abcdef0",
        zones=("us-east-1a", "us-east-1b"),
        taints=(GPU_TAINT,),
        maintenance=NIGHTS,
    ),
    NodePool(
        id="serving",
        provider=GPUS.model_copy(update={"static_nodes": True, "expire_after": "Never"}),
        accelerator=Accelerator(model="l4", count=4),
        min_nodes=2,
        max_nodes=2,
        taints=(GPU_TAINT,),
    ),
    NodePool(
        id="batch",
        provider=Karpenter(consolidation="WhenEmptyOrUnderutilized", consolidate_after="1m"),
        machine_type="m7i.4xlarge",
        max_nodes=20,
        spot=True,
    ),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="research", namespaces=("research",), guaranteed=Resources(gpu={"h100": 8, "l4": 4})),),
    node_pools=POOLS,
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="eks-us", engine=Engine.VOLCANO, engine_version="1.13.0", pools=POOLS),),
        ),
    ),
)
