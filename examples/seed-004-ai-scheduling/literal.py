"""The original queue and class of the article: limits, a weight, and a class with the value 1000000.

`apportion validate examples/seed-004-ai-scheduling/literal.py` reports the problems.
"""

from machines import POOLS

from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    QueueOverride,
    Resources,
)

AI = Queue(
    id="ai-queue",
    namespaces=("ai",),
    limit=Resources(cpu=32, memory="128Gi", gpu=8),
    over_quota_weight=1,
)

policy = Policy(
    organisation=Organisation(name="ai-scheduling"),
    queues=(AI,),
    priority_classes=(PriorityClass(name="ai-high-priority", value=1_000_000),),
    node_pools=POOLS,
    environments=(
        Environment(
            name="plain",
            clusters=(Cluster(name="kubernetes", engine=Engine.NATIVE, engine_version="1.34", pools=POOLS),),
        ),
        Environment(
            name="batch",
            clusters=(Cluster(name="volcano", engine=Engine.VOLCANO, engine_version="1.13.0", pools=POOLS),),
            overrides=(QueueOverride(queue=AI, limit=Resources(cpu=100, memory="200Gi", gpu=16)),),
        ),
    ),
)
