"""Pools on GKE: one with queued provisioning and every flag of the article, and one with permanent nodes."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Gke,
    Maintenance,
    MaintenanceExclusion,
    MaintenanceWindow,
    NodePool,
    ProvisioningPlan,
)

VERSION = "1.33.2-gke.1240000"

# Nodes can run for ten minutes to seven days. Each job requests its own duration by an annotation, the article's 600 seconds.
# A `max_run_duration` of the plan would be a second value, and Kueue recreates a request forever if the two differ.
WHOLE_REQUESTS = ProvisioningPlan(id="dws", max_nodes_per_request=16)

QUEUED = NodePool(
    id="dws-pool",
    provider=Gke(
        version=VERSION,
        release_channel="none",
        auto_repair=False,
        auto_upgrade=False,
        location_policy="ANY",
        reservation_affinity="none",
        gvnic=True,
    ),
    machine_type="g2-standard-24",
    cpu=22,
    memory="88Gi",
    accelerator=Accelerator(model="l4", count=2, memory="24Gi", provider_name="nvidia-l4"),
    min_nodes=0,
    max_nodes=17,
    taints=(GPU_TAINT,),
    provisioning=WHOLE_REQUESTS,
    maintenance=Maintenance(
        window=MaintenanceWindow(
            start="2026-01-03T02:00:00Z", end="2026-01-03T08:00:00Z", recurrence="FREQ=WEEKLY;BYDAY=SA,SU"
        ),
        exclusions=(
            MaintenanceExclusion(name="quarter-end", start="2026-12-20T00:00:00Z", end="2027-01-05T00:00:00Z"),
        ),
    ),
)
ORDINARY = NodePool(
    id="ordinary",
    provider=Gke(version=VERSION, release_channel="none", auto_upgrade=False),
    machine_type="e2-standard-8",
    cpu=7,
    memory="26Gi",
    min_nodes=1,
    max_nodes=3,
)
