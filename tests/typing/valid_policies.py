"""Valid policies type-check."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import assert_type

from apportion_policy import (
    TRAIN,
    UNLIMITED,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
    Weight,
    collect,
)

POOL = NodePool(id="p", max_nodes=1, cpu=96, memory="1Ti")
PARENT = Queue(id="research", guaranteed=Resources(cpu=64, memory="2Ti", gpu={"h100": 8, "a100": "0.5"}))
BY_REFERENCE = Queue(id="a", parent=PARENT, pools=(POOL, "other"), priority_classes=(TRAIN, "build"))
BY_ID = Queue(id="b", parent="research", limit=Resources(gpu=UNLIMITED), over_quota_weight=Weight(gpu=2))
NESTED = Queue(id="c", children=(Queue(id="d", over_quota_weight="0.5"),), preempt_min_runtime=timedelta(minutes=5))
EXACT = Resources(cpu=Decimal("0.5"), gpu=0.5, machines=None)
ENVIRONMENT = Environment(
    name="prod",
    clusters=(Cluster(name="c", engine=Engine.KAI, engine_version="0.17.0", pools=(POOL,), share="1/2"),),
)
POLICY = Policy(organisation=Organisation(name="acme"), queues=(PARENT, BY_REFERENCE, BY_ID, NESTED))

assert_type(collect("teams", Queue), tuple[Queue, ...])
assert_type(PARENT.id, str)
