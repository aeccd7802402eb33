"""Queued batch jobs: Kueue admits them, and Google's Dynamic Workload Scheduler provisions all of their nodes at once.

The article uses an "infinite" quota of 10000. Here, the queue is guaranteed the maximum of the pool, so that further
workloads wait in order. `literal.py` and `literal.yaml` have the article's original objects.

`apportion bind batch --policy examples/seed-003-gke-dws --kind Job --provisioning dws` prints the article's job; on a
cluster without Kueue, the command also prints the PodTemplate and the ProvisioningRequest.
"""

from machines import ORDINARY, QUEUED, WHOLE_REQUESTS

from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    Waiver,
)

BATCH = PriorityClass(name="batch", value=0, preemptible=True, description="Batch workloads that can wait and restart")

DWS = Queue(
    id="batch",
    owner="@acme/platform",
    namespaces=("batch",),
    guaranteed=Resources(gpu=32),
    limit=Resources(gpu=32),
    pools=(QUEUED, ORDINARY),
    priority_classes=(BATCH,),
)

policy = Policy(
    organisation=Organisation(name="queued-provisioning", owner="@acme/platform"),
    queues=(DWS,),
    priority_classes=(BATCH,),
    node_pools=(QUEUED, ORDINARY),
    provisioning_plans=(WHOLE_REQUESTS,),
    environments=(
        Environment(
            name="demo",
            clusters=(Cluster(name="dws", engine=Engine.KUEUE, engine_version="0.19.0", pools=(QUEUED, ORDINARY)),),
        ),
    ),
    waivers=(
        Waiver(
            code="AP601",
            address="cluster demo/dws",
            reason="these nodes are not guaranteed: the quota only allows workloads to request them",
            owner="@acme/platform",
            expires="2030-12-31",
        ),
    ),
)
