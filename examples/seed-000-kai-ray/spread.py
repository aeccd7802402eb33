"""The same policy on a cluster that spreads pods across nodes and devices; `policy.py` bin-packs them."""

from machines import GPU_NODES, ORDINARY
from policy import DEPARTMENT_1, TEAM_A

from apportion_policy import (
    DEFAULT_PRIORITY_CLASSES,
    SPREAD,
    Cluster,
    Engine,
    Environment,
    Organisation,
    Placement,
    Policy,
)

policy = Policy(
    organisation=Organisation(name="ray-on-kai", owner="@acme/platform"),
    queues=(DEPARTMENT_1, TEAM_A),
    priority_classes=DEFAULT_PRIORITY_CLASSES,
    node_pools=(GPU_NODES, ORDINARY),
    environments=(
        Environment(
            name="demo",
            clusters=(
                Cluster(
                    name="ray",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=(GPU_NODES, ORDINARY),
                    placement=Placement(gpu=SPREAD, cpu=SPREAD),
                ),
            ),
        ),
    ),
)
