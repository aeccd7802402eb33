"""The cluster of the guide, with three machines of 8 cores and 32 GiB, and the GPUs that its quotas declare."""

from apportion_policy import GPU_TAINT, Accelerator, Ack, NodePool

# The allocatable amounts of 8 cores and 32 GiB.
DEFAULT = NodePool(
    id="default", provider=Ack(), machine_type="ecs.g7.2xlarge", cpu=7, memory="28Gi", min_nodes=3, max_nodes=6
)
GPU_NODES = NodePool(
    id="gpu-nodes",
    provider=Ack(),
    machine_type="ecs.gn7i-c8g1.2xlarge",
    cpu=7,
    memory="26Gi",
    accelerator=Accelerator(model="a10", count=1, memory="24Gi"),
    min_nodes=0,
    max_nodes=10,
    taints=(GPU_TAINT,),
)
