"""The cluster of the guide: a few GPUs that pods share with KAI, and one machine without GPUs."""

from apportion_policy import GPU_TAINT, Accelerator, Fixed, NodePool

# The guide's gang has a head with 1 GPU and 4 workers with half a GPU each: all 3 GPUs or none.
GPU_NODES = NodePool(
    id="gpu-nodes",
    provider=Fixed(),
    cpu=16,
    memory="64Gi",
    accelerator=Accelerator(model="l4", count=2, memory="24Gi"),
    min_nodes=3,
    max_nodes=3,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=16, memory="64Gi", min_nodes=1, max_nodes=1)
