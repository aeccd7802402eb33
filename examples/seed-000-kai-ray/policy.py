"""KAI Scheduler with Ray: one department, one team, gangs, priorities and shared GPUs.

The guide sets the quota of both queues to `-1` "for demonstration". This policy guarantees finite amounts, so that KAI
can reclaim, and non-preemptible workloads are limited. `literal.py` has the guide's original queues.
"""

from machines import GPU_NODES, ORDINARY

from apportion_policy import (
    DEFAULT_PRIORITY_CLASSES,
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    Queue,
    Resources,
)

TEAM_A = Queue(
    id="team-a",
    parent="department-1",
    namespaces=("team-a",),
    guaranteed=Resources(gpu=4),
    limit=Resources(gpu=6),
    gpu_sharing=True,
)
DEPARTMENT_1 = Queue(id="department-1", owner="@acme/platform", guaranteed=Resources(gpu=4), limit=Resources(gpu=6))

policy = Policy(
    organisation=Organisation(name="ray-on-kai", owner="@acme/platform"),
    queues=(DEPARTMENT_1, TEAM_A),
    priority_classes=DEFAULT_PRIORITY_CLASSES,
    node_pools=(GPU_NODES, ORDINARY),
    environments=(
        Environment(
            name="demo",
            clusters=(Cluster(name="ray", engine=Engine.KAI, engine_version="0.17.0", pools=(GPU_NODES, ORDINARY)),),
        ),
    ),
)
