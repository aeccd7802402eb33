"""The original queue of the article, with an "infinite" quota: 10000 cores, 10000Gi and 10000 GPUs.

`apportion validate examples/seed-003-gke-dws/literal.py` reports the problems.
"""

from machines import ORDINARY, QUEUED, WHOLE_REQUESTS

from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    Queue,
    Resources,
)

INFINITE = Resources(cpu=10_000, memory="10000Gi", gpu=10_000)

policy = Policy(
    organisation=Organisation(name="queued-provisioning"),
    queues=(Queue(id="dws-cluster-queue", namespaces=("batch",), guaranteed=INFINITE, limit=INFINITE),),
    node_pools=(QUEUED, ORDINARY),
    provisioning_plans=(WHOLE_REQUESTS,),
    environments=(
        Environment(
            name="demo",
            clusters=(Cluster(name="dws", engine=Engine.KUEUE, engine_version="0.19.0", pools=(QUEUED, ORDINARY)),),
        ),
    ),
)
