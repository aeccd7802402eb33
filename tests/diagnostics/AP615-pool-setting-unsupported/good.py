"""Settings that each provider has a field for; racks, of which nothing is made."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Ack,
    Eks,
    Fixed,
    Gke,
    Karpenter,
    Maintenance,
    MaintenanceExclusion,
    MaintenanceWindow,
    Mig,
    NodePool,
    Organisation,
    Policy,
    Queue,
    TimeSlicing,
)

SATURDAY = MaintenanceWindow(
    start="2026-01-03T02:00:00Z", end="2026-01-03T08:00:00Z", recurrence="FREQ=WEEKLY;BYDAY=SA"
)
LAUNCH = MaintenanceExclusion(name="launch", start="2026-12-01T00:00:00Z", end="2026-12-20T00:00:00Z")

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        NodePool(
            id="gke",
            provider=Gke(reservation_affinity="specific"),
            machine_type="a2-highgpu-8g",
            accelerator=Accelerator(model="a100", count=8, provider_name="nvidia-tesla-a100"),
            max_nodes=4,
            reservation="r-1",
            zones=("europe-west4-a", "europe-west4-b"),
            sharing=Mig(profile="1g.5gb", instances=7),
            maintenance=Maintenance(window=SATURDAY, exclusions=(LAUNCH,)),
            taints=(GPU_TAINT,),
        ),
        NodePool(
            id="gke-still",
            provider=Gke(autoscaling=False),
            machine_type="n2-standard-8",
            min_nodes=4,
            max_nodes=4,
            zones=("europe-west4-a", "europe-west4-b"),
        ),
        NodePool(
            id="ack",
            provider=Ack(spot_strategy="SpotWithPriceLimit", deployment_set="ds-1"),
            machine_type="ecs.g7.4xlarge",
            max_nodes=4,
            spot=True,
        ),
        NodePool(
            id="eks",
            provider=Eks(capacity_block=True),
            machine_type="p5.48xlarge",
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=4,
            reservation="cr-0123",
            taints=(GPU_TAINT,),
        ),
        NodePool(
            id="karpenter",
            provider=Karpenter(static_nodes=True),
            machine_type="m7i.4xlarge",
            min_nodes=2,
            max_nodes=2,
            zones=("us-east-1a",),
            maintenance=Maintenance(window=SATURDAY),
        ),
        NodePool(
            id="rack",
            provider=Fixed(),
            accelerator=Accelerator(model="a100", count=8),
            max_nodes=4,
            zones=("hall-2",),
            sharing=TimeSlicing(clients=4),
            maintenance=Maintenance(window=SATURDAY),
            taints=(GPU_TAINT,),
        ),
    ),
    queues=(Queue(id="research"),),
)
