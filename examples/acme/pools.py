"""Node pools: each site has tainted pools with GPUs, and an untainted pool of machines without GPUs."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Ack,
    Eks,
    Fixed,
    Gke,
    Karpenter,
    NodePool,
    ProvisioningPlan,
)

H100 = Accelerator(model="h100", count=8, memory="80Gi", provider_name="nvidia-h100-80gb")
A100 = Accelerator(model="a100", count=8, memory="80Gi", provider_name="nvidia-a100-80gb")
LAB_A100 = Accelerator(model="a100", count=4, memory="40Gi")


def gpu_pool(place, gpu, provider, *, cpu, memory, nodes, machine_type=None, **settings):
    """Return a pool of machines with GPUs; `nodes` has the minimum and maximum number of machines."""
    return NodePool(
        id=f"{place}-{gpu.model}",
        provider=provider,
        machine_type=machine_type,
        cpu=cpu,
        memory=memory,
        accelerator=gpu,
        min_nodes=nodes[0],
        max_nodes=nodes[1],
        labels={"acme.example/gpu": gpu.model},
        taints=(GPU_TAINT,),
        **settings,
    )


def ordinary_pool(place, provider, *, cpu, memory, nodes, machine_type=None):
    """Return a pool of machines without GPUs."""
    return NodePool(
        id=f"{place}-ordinary",
        provider=provider,
        machine_type=machine_type,
        cpu=cpu,
        memory=memory,
        min_nodes=nodes[0],
        max_nodes=nodes[1],
    )


def gke_pools(place, zone, *, h100, a100, ordinary):
    """Return the pools of A3 and A2 machines in one zone."""
    gke = Gke(version="1.33.2-gke.1240000")
    a3 = {"machine_type": "a3-highgpu-8g", "cpu": 192, "memory": "1800Gi", "zones": (zone,), "topology": "blocks"}
    a2 = {"machine_type": "a2-ultragpu-8g", "cpu": 88, "memory": "1300Gi", "zones": (zone,)}
    return (
        gpu_pool(place, H100, gke, nodes=h100, **a3),
        gpu_pool(place, A100, gke, nodes=a100, **a2),
        ordinary_pool(place, gke, machine_type="n2-standard-32", cpu=30, memory="120Gi", nodes=ordinary),
    )


def aws_pools(place, provider):
    """Return the pools of P5 and P4 machines, in EKS node groups or created by Karpenter."""
    return (
        gpu_pool(place, H100, provider, machine_type="p5.48xlarge", cpu=188, memory="1900Gi", nodes=(0, 4)),
        gpu_pool(place, A100, provider, machine_type="p4de.24xlarge", cpu=92, memory="1080Gi", nodes=(0, 4)),
        ordinary_pool(place, provider, machine_type="m7i.8xlarge", cpu=30, memory="120Gi", nodes=(0, 20)),
    )


def fixed_pools(place, a100=A100):
    """Return the pools of a fixed number of on-premises machines."""
    return (
        gpu_pool(place, H100, Fixed(), cpu=120, memory="960Gi", nodes=(4, 4)),
        gpu_pool(place, a100, Fixed(), cpu=60, memory="480Gi", nodes=(5, 5)),
        ordinary_pool(place, Fixed(), cpu=60, memory="240Gi", nodes=(2, 2)),
    )


# Batch workloads request all of their machines at once, for at most a week.
WHOLE_REQUESTS = ProvisioningPlan(id="whole-requests", max_run_duration="7d", retry_limit=5)

EU = gke_pools("eu", "europe-west4-a", h100=(2, 8), a100=(2, 6), ordinary=(3, 40))
# Permanent machines: Kueue's topology-aware placement requires nodes that exist.
ASIA = gke_pools("asia", "asia-east1-c", h100=(4, 4), a100=(4, 4), ordinary=(6, 6))
ASIA_QUEUED = NodePool(
    id="asia-queued",
    provider=Gke(
        version="1.33.2-gke.1240000",
        release_channel="none",
        auto_repair=False,
        auto_upgrade=False,
        location_policy="ANY",
        reservation_affinity="none",
    ),
    machine_type="a3-highgpu-8g",
    cpu=192,
    memory="1800Gi",
    accelerator=H100,
    max_nodes=16,
    taints=(GPU_TAINT,),
    provisioning=WHOLE_REQUESTS,
)
US = aws_pools("us", Eks(subnets=("subnet-a", "subnet-b"), node_role="arn:aws:iam::123456789012:role/nodes"))
TAGS = {"karpenter.sh/discovery": "acme"}
BURST = aws_pools(
    "burst",
    Karpenter(
        role="KarpenterNodeRole-acme",
        ami_alias="al2023@v20260101",
        subnet_tags=TAGS,
        security_group_tags=TAGS,
    ),
)
HANGZHOU = (
    gpu_pool(
        "hangzhou",
        A100,
        Ack(vswitches=("vsw-1",)),
        machine_type="ecs.gn7e-c16g1.32xlarge",
        cpu=124,
        memory="960Gi",
        nodes=(0, 4),
    ),
    ordinary_pool(
        "hangzhou", Ack(vswitches=("vsw-1",)), machine_type="ecs.g8i.8xlarge", cpu=30, memory="120Gi", nodes=(2, 20)
    ),
)
RACK = fixed_pools("rack")
EDGE = fixed_pools("edge")
LAB = fixed_pools("lab", LAB_A100)

POOLS = (*EU, *ASIA, ASIA_QUEUED, *US, *BURST, *HANGZHOU, *RACK, *EDGE, *LAB)
