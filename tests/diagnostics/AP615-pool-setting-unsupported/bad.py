"""For each provider: what it has no field for, what it refuses, and what it cannot do without something else."""

from apportion_policy import (
    Accelerator,
    Ack,
    Eks,
    Gke,
    Karpenter,
    Maintenance,
    MaintenanceWindow,
    Mps,
    NodePool,
    Organisation,
    Policy,
    Queue,
    TimeSlicing,
)

FIRST_MONDAY = MaintenanceWindow(
    start="2026-01-05T02:00:00Z", end="2026-01-05T06:00:00Z", recurrence="FREQ=MONTHLY;BYDAY=1MO"
)
L4 = Accelerator(model="l4", count=1)

POOLS = (
    NodePool(id="gke-bare", provider=Gke(), accelerator=L4, max_nodes=4),  # AP615
    NodePool(  # AP615
        id="gke-still",
        provider=Gke(autoscaling=False, auto_upgrade=False),
        machine_type="n2-standard-8",
        min_nodes=2,
        max_nodes=5,
        zones=("europe-west4-a", "europe-west4-b"),
    ),
    NodePool(  # AP615
        id="gke-reserved",
        provider=Gke(reservation_affinity="none", flex_start=True),
        machine_type="n2-standard-8",
        max_nodes=4,
        reservation="r-1",
    ),
    NodePool(  # AP615
        id="gke-specific", provider=Gke(reservation_affinity="specific"), machine_type="n2-standard-8", max_nodes=4
    ),
    NodePool(  # AP615
        id="gke-request",
        provider=Gke(node_auto_provisioning=True),
        accelerator=Accelerator(model="l4", count=1, provider_name="nvidia-l4"),
        max_nodes=4,
        labels={"tier": "gold"},
    ),
    NodePool(  # AP615
        id="ack",
        provider=Ack(spot_strategy="SpotAsPriceGo"),
        accelerator=L4,
        max_nodes=4,
        zones=("cn-hangzhou-h",),
        sharing=TimeSlicing(clients=4),
        maintenance=Maintenance(window=FIRST_MONDAY),
    ),
    NodePool(  # AP615
        id="eks",
        provider=Eks(capacity_block=True),
        machine_type="g6.xlarge",
        accelerator=L4,
        max_nodes=0,
        spot=True,
        zones=("us-east-1a",),
        sharing=Mps(clients=4),
    ),
    NodePool(  # AP615
        id="eks-self", provider=Eks(managed=False, node_repair=True), machine_type="m7i.4xlarge", max_nodes=4
    ),
    NodePool(  # AP615
        id="karpenter",
        provider=Karpenter(expire_after="30d"),
        min_nodes=2,
        max_nodes=4,
        reservation="block-1",
        maintenance=Maintenance(window=FIRST_MONDAY),
    ),
    NodePool(  # AP615
        id="static",
        provider=Karpenter(static_nodes=True, ami_alias="al2023"),
        machine_type="m7i.4xlarge",
        min_nodes=2,
        max_nodes=4,
    ),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"), node_pools=POOLS, queues=(Queue(id="research"),)
)
