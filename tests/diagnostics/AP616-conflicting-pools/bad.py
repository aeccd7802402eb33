"""Two windows on one cluster, one exclusion twice, a node class in two forms and in part, two pools that are one."""

from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    Karpenter,
    Maintenance,
    MaintenanceExclusion,
    MaintenanceWindow,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
)


def night(day: int, end: str) -> Maintenance:
    window = MaintenanceWindow(
        start=f"2026-01-0{day}T02:00:00Z", end=f"2026-01-0{day}T06:00:00Z", recurrence="FREQ=WEEKLY"
    )
    launch = MaintenanceExclusion(name="launch", start="2026-12-01T00:00:00Z", end=end)
    return Maintenance(window=window, exclusions=(launch,))


DWS = ProvisioningPlan(id="dws")
L4 = Accelerator(model="l4", count=1, provider_name="nvidia-l4")
ON_REQUEST = Gke(node_auto_provisioning=True, reservation_affinity="none", location_policy="ANY", auto_repair=False)
TAGS = {"karpenter.sh/discovery": "prod"}
WHOLE = Karpenter(role="nodes", ami_alias="al2023@v20260101", subnet_tags=TAGS, security_group_tags=TAGS)
OTHER = Karpenter(role="others", ami_alias="al2023@v20260101", subnet_tags=TAGS, security_group_tags=TAGS)
PART = Karpenter(node_class="part", role="nodes")

EARLY = NodePool(
    id="early", provider=Gke(), machine_type="e2-standard-8", max_nodes=4, maintenance=night(3, "2026-12-20T00:00:00Z")
)
LATE = NodePool(  # AP616
    id="late", provider=Gke(), machine_type="e2-standard-8", max_nodes=4, maintenance=night(4, "2026-12-24T00:00:00Z")
)
ASKED = NodePool(id="asked", provider=ON_REQUEST, accelerator=L4, max_nodes=4, provisioning=DWS)
AGAIN = NodePool(id="again", provider=ON_REQUEST, accelerator=L4, max_nodes=4, provisioning=DWS)  # AP616
ONE = NodePool(id="one", provider=WHOLE, machine_type="m7i.4xlarge", max_nodes=4)
TWO = NodePool(id="two", provider=OTHER, machine_type="m7i.8xlarge", max_nodes=4)  # AP616
THREE = NodePool(id="three", provider=PART, machine_type="m7i.8xlarge", max_nodes=4)  # AP616

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(EARLY, LATE, ASKED, AGAIN, ONE, TWO, THREE),
    provisioning_plans=(DWS,),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gcp", engine=Engine.KAI, engine_version="0.17.0", pools=(EARLY, LATE, ASKED, AGAIN)),
                Cluster(name="aws", engine=Engine.KAI, engine_version="0.17.0", pools=(ONE, TWO, THREE)),
            ),
        ),
    ),
)
