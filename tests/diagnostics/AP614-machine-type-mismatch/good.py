"""What the machines have; less than they have; a type that is not known; another provider's type of the same name."""

from apportion_policy import Accelerator, Ack, Gke, Karpenter, NodePool, Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        NodePool(
            id="h100",
            provider=Gke(),
            machine_type="a3-highgpu-8g",
            cpu=200,
            memory="1800Gi",
            accelerator=Accelerator(model="h100", count=8, provider_name="nvidia-h100-80gb"),
            max_nodes=4,
        ),
        NodePool(id="ordinary", provider=Gke(), machine_type="n2-standard-32", cpu=30, memory="120Gi", max_nodes=4),
        NodePool(
            id="newer",
            provider=Karpenter(),
            machine_type="p9.96xlarge",
            accelerator=Accelerator(model="x100", count=16),
            max_nodes=4,
        ),
        NodePool(
            id="ack",
            provider=Ack(),
            machine_type="p5.48xlarge",
            accelerator=Accelerator(model="l20", count=2),
            max_nodes=4,
        ),
    ),
    queues=(Queue(id="research"),),
)
