"""The cluster of the article: a few GPUs, for which training and serving compete, and one machine without GPUs."""

from apportion_policy import GPU_TAINT, Accelerator, Fixed, NodePool

GPU_NODES = NodePool(
    id="gpu-nodes",
    provider=Fixed(),
    cpu=16,
    memory="64Gi",
    accelerator=Accelerator(model="l4", count=1, memory="24Gi"),
    min_nodes=3,
    max_nodes=3,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=16, memory="64Gi", min_nodes=1, max_nodes=1)
