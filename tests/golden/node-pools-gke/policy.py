"""GKE: queued provisioning, a pool that GKE makes on request, sharing, a reservation, maintenance; the flavors agree."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    Maintenance,
    MaintenanceExclusion,
    MaintenanceWindow,
    Mig,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
    Resources,
    TimeSlicing,
)

DWS = ProvisioningPlan(id="dws", max_run_duration="7d")
QUEUED = Gke(
    release_channel="none",
    auto_repair=False,
    auto_upgrade=False,
    location_policy="ANY",
    reservation_affinity="none",
    driver_version="latest",
    gvnic=True,
)
ON_REQUEST = QUEUED.model_copy(update={"node_auto_provisioning": True})
NIGHTS = Maintenance(
    window=MaintenanceWindow(
        start="2026-01-03T02:00:00Z", end="2026-01-03T08:00:00Z", recurrence="FREQ=WEEKLY;BYDAY=SA"
    ),
    exclusions=(
        MaintenanceExclusion(
            name="launch", start="2026-12-01T00:00:00Z", end="2026-12-20T00:00:00Z", scope="no-minor-upgrades"
        ),
    ),
)

POOLS = (
    NodePool(
        id="h100-dws",
        provider=QUEUED,
        machine_type="a3-highgpu-8g",
        accelerator=Accelerator(model="h100", count=8, provider_name="nvidia-h100-80gb"),
        max_nodes=16,
        zones=("europe-west4-b", "europe-west4-c"),
        taints=(GPU_TAINT,),
        provisioning=DWS,
        maintenance=NIGHTS,
    ),
    NodePool(
        id="a100-on-request",
        provider=ON_REQUEST,
        machine_type="a2-highgpu-8g",
        accelerator=Accelerator(model="a100", count=8, provider_name="nvidia-tesla-a100"),
        max_nodes=4,
        provisioning=DWS,
        maintenance=NIGHTS,
    ),
    NodePool(
        id="l4-shared-by-the-notebooks-of-every-department",
        provider=Gke(reservation_affinity="specific"),
        machine_type="g2-standard-24",
        accelerator=Accelerator(model="l4", count=2),
        min_nodes=3,
        max_nodes=6,
        zones=("europe-west4-b", "europe-west4-c"),
        labels={"acme.example/tier": "notebooks", "cloud.google.com/gke-accelerator": "nvidia-l4"},
        reservation="notebooks",
        sharing=TimeSlicing(clients=4),
    ),
    NodePool(
        id="a100-mig",
        provider=Gke(autoscaling=False, compact_placement=True),
        machine_type="a2-highgpu-1g",
        accelerator=Accelerator(model="a100", count=1, provider_name="nvidia-tesla-a100"),
        min_nodes=2,
        max_nodes=2,
        zones=("europe-west4-b",),
        taints=(GPU_TAINT,),
        sharing=Mig(profile="1g.5gb", instances=7),
    ),
    NodePool(id="ordinary", provider=Gke(), machine_type="n2-standard-8", min_nodes=1, max_nodes=9, spot=True),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="research", namespaces=("research",), guaranteed=Resources(gpu={"h100": 8, "l4": 2})),),
    node_pools=POOLS,
    provisioning_plans=(DWS,),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gke-eu", engine=Engine.KUEUE, engine_version="0.18.3", pools=POOLS),),
        ),
    ),
)
