"""The original queues of the article: every quota and every limit is -1, on the parent and on the child.

`apportion validate examples/seed-001-kai-vllm/literal.py` reports the problems.
"""

from machines import GPU_NODES, ORDINARY

from apportion_policy import (
    DEFAULT_PRIORITY_CLASSES,
    UNLIMITED,
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    Queue,
    Resources,
)

EVERYTHING = Resources(cpu=UNLIMITED, memory=UNLIMITED, gpu=UNLIMITED)

DEPARTMENT_1 = Queue(id="department-1", guaranteed=EVERYTHING, limit=EVERYTHING, over_quota_weight=1)
TEAM_A = Queue(id="team-a", parent=DEPARTMENT_1, guaranteed=EVERYTHING, limit=EVERYTHING, over_quota_weight=1)

policy = Policy(
    organisation=Organisation(name="vllm-on-kai"),
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
