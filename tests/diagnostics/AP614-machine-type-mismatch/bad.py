"""Half of the GPUs, another kind of GPU, GPUs where there are none, more cores and memory than there are."""

from apportion_policy import Accelerator, Eks, Gke, Karpenter, NodePool, Organisation, Policy, Queue

HALF = NodePool(  # AP614
    id="half",
    provider=Gke(),
    machine_type="a3-highgpu-8g",
    accelerator=Accelerator(model="h100", count=4, provider_name="nvidia-h100-80gb"),
    max_nodes=4,
)
OTHER = NodePool(  # AP614
    id="other",
    provider=Gke(),
    machine_type="a3-megagpu-8g",
    accelerator=Accelerator(model="h100", count=8, provider_name="nvidia-h100-80gb"),
    max_nodes=4,
)
NONE = NodePool(  # AP614
    id="none",
    provider=Gke(),
    machine_type="n2-standard-32",
    accelerator=Accelerator(model="l4", count=1, provider_name="nvidia-l4"),
    max_nodes=4,
)
LARGE = NodePool(  # AP614
    id="large",
    provider=Karpenter(),
    machine_type="p4d.24xlarge",
    cpu=128,
    memory="1400Gi",
    accelerator=Accelerator(model="a100", count=8),
    max_nodes=4,
)
PLAIN = NodePool(id="plain", provider=Eks(), machine_type="p5.48xlarge", max_nodes=4)  # AP614

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(HALF, OTHER, NONE, LARGE, PLAIN),
    queues=(Queue(id="research"),),
)
