"""EKS: managed groups, one of a capacity block and one of spot machines, and a group that the autoscaler scales."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Eks,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
)

POOLS = (
    NodePool(
        id="block",
        provider=Eks(capacity_block=True, subnets=("subnet-1",), node_role="arn:aws:iam::123456789012:role/nodes"),
        machine_type="p5.48xlarge",
        accelerator=Accelerator(model="h100", count=8),
        max_nodes=4,
        reservation="cr-0123456789abcdef0",
        taints=(GPU_TAINT,),
    ),
    NodePool(
        id="self-scaled",
        provider=Eks(managed=False, subnets=("subnet-1", "subnet-2")),
        machine_type="g6.12xlarge",
        accelerator=Accelerator(model="l4", count=4),
        max_nodes=6,
        spot=True,
        taints=(GPU_TAINT,),
    ),
    NodePool(
        id="servers",
        provider=Eks(ami_type="BOTTLEROCKET_x86_64", node_repair=True),
        machine_type="m7i.4xlarge",
        min_nodes=2,
        max_nodes=8,
        spot=True,
    ),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="research", namespaces=("research",), guaranteed=Resources(gpu={"h100": 8, "l4": 4})),),
    node_pools=POOLS,
    environments=(
        Environment(
            name="prod", clusters=(Cluster(name="eks-us", engine=Engine.KAI, engine_version="0.17.0", pools=POOLS),)
        ),
    ),
)
