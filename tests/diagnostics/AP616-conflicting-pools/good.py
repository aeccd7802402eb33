"""The same window on both; the same class on both; other names; other clusters; pools on request with other GPUs."""

from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    Karpenter,
    Maintenance,
    MaintenanceWindow,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
)


def night(day: int) -> Maintenance:
    start, end = f"2026-01-0{day}T02:00:00Z", f"2026-01-0{day}T06:00:00Z"
    return Maintenance(window=MaintenanceWindow(start=start, end=end, recurrence="FREQ=WEEKLY"))


TAGS = {"karpenter.sh/discovery": "prod"}
WHOLE = Karpenter(role="nodes", ami_alias="al2023@v20260101", subnet_tags=TAGS, security_group_tags=TAGS)
NAMED = Karpenter(node_class="made-elsewhere")
DWS = ProvisioningPlan(id="dws")
ON_REQUEST = Gke(node_auto_provisioning=True, reservation_affinity="none", location_policy="ANY", auto_repair=False)

A = NodePool(id="a", provider=Gke(), machine_type="e2-standard-8", max_nodes=4, maintenance=night(3))
B = NodePool(id="b", provider=Gke(), machine_type="e2-standard-16", max_nodes=4, maintenance=night(3))
C = NodePool(id="c", provider=Gke(), machine_type="e2-standard-8", max_nodes=4, maintenance=night(4))
ONE = NodePool(id="one", provider=WHOLE, machine_type="m7i.4xlarge", max_nodes=4)
TWO = NodePool(id="two", provider=WHOLE, machine_type="m7i.8xlarge", max_nodes=4)
THREE = NodePool(id="three", provider=NAMED, machine_type="m7i.8xlarge", max_nodes=4)
# Their machine types include different GPUs.
L4 = NodePool(
    id="l4",
    provider=ON_REQUEST,
    machine_type="g2-standard-12",
    accelerator=Accelerator(model="l4", count=1),
    max_nodes=4,
    provisioning=DWS,
)
A100 = NodePool(
    id="a100",
    provider=ON_REQUEST,
    machine_type="a2-highgpu-1g",
    accelerator=Accelerator(model="a100", count=1),
    max_nodes=4,
    provisioning=DWS,
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(A, B, C, ONE, TWO, THREE, L4, A100),
    provisioning_plans=(DWS,),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gcp", engine=Engine.KAI, engine_version="0.17.0", pools=(A, B)),
                Cluster(name="gcp-2", engine=Engine.KAI, engine_version="0.17.0", pools=(C, L4, A100)),
                Cluster(name="aws", engine=Engine.KAI, engine_version="0.17.0", pools=(ONE, TWO, THREE)),
            ),
        ),
    ),
)
