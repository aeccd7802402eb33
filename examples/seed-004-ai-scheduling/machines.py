"""Machines for the article's workloads: the two GPU models in its node affinity, and machines without GPUs."""

from apportion_policy import GPU_TAINT, Accelerator, Fixed, NodePool

A100 = NodePool(
    id="a100",
    provider=Fixed(),
    cpu=48,
    memory="256Gi",
    accelerator=Accelerator(model="a100", count=4, memory="80Gi"),
    min_nodes=2,
    max_nodes=2,
    labels={"gpu-type": "A100"},
    taints=(GPU_TAINT,),
)
H100 = NodePool(
    id="h100",
    provider=Fixed(),
    cpu=96,
    memory="1Ti",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi"),
    min_nodes=1,
    max_nodes=1,
    labels={"gpu-type": "H100"},
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=32, memory="128Gi", min_nodes=2, max_nodes=2)
POOLS = (A100, H100, ORDINARY)
