"""Machines: two kinds with GPUs, each kept for GPU work by a taint, and ordinary ones beside them."""

from apportion_policy import GPU_TAINT, Accelerator, Fixed, Gke, NodePool

H100 = NodePool(
    id="h100",
    provider=Gke(version="1.33.2-gke.1240000"),
    machine_type="a3-highgpu-8g",
    cpu=192,
    memory="1800Gi",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi", provider_name="nvidia-h100-80gb"),
    min_nodes=4,
    max_nodes=17,
    labels={"acme.example/gpu": "h100"},
    topology="blocks",
    taints=(GPU_TAINT,),
    zones=("europe-west4-a",),
)

A100 = NodePool(
    id="a100",
    provider=Gke(version="1.33.2-gke.1240000"),
    machine_type="a2-ultragpu-8g",
    cpu=88,
    memory="1300Gi",
    accelerator=Accelerator(model="a100", count=8, memory="80Gi", provider_name="nvidia-a100-80gb"),
    min_nodes=2,
    max_nodes=13,
    labels={"acme.example/gpu": "a100"},
    taints=(GPU_TAINT,),
    zones=("europe-west4-a",),
)

ORDINARY = NodePool(
    id="ordinary",
    provider=Gke(version="1.33.2-gke.1240000"),
    machine_type="n2-standard-32",
    cpu=30,
    memory="120Gi",
    min_nodes=3,
    max_nodes=40,
)

LAB_H100 = NodePool(
    id="lab-h100",
    provider=Fixed(),
    cpu=120,
    memory="960Gi",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi"),
    min_nodes=3,
    max_nodes=3,
    labels={"acme.example/gpu": "h100"},
    taints=(GPU_TAINT,),
)

LAB_A100 = NodePool(
    id="lab-a100",
    provider=Fixed(),
    cpu=60,
    memory="480Gi",
    accelerator=Accelerator(model="a100", count=4, memory="40Gi"),
    min_nodes=4,
    max_nodes=4,
    labels={"acme.example/gpu": "a100"},
    taints=(GPU_TAINT,),
)

LAB_ORDINARY = NodePool(id="lab-ordinary", provider=Fixed(), cpu=60, memory="240Gi", min_nodes=2, max_nodes=2)

POOLS = (H100, A100, ORDINARY, LAB_H100, LAB_A100, LAB_ORDINARY)
