"""AI workloads on plain Kubernetes and on Volcano: one queue, its limits, its priority, bin-packing and spreading.

This policy generates the article's hand-written objects, for plain Kubernetes in `native/`: the ResourceQuota (GPUs only
as `requests.`), the LimitRange (without a default for GPUs), the PriorityClass, profiles of kube-scheduler with in-tree
plugins, and in `templates/` a recurring job and an autoscaler based on GPU utilisation. `literal.py` and
`literal.yaml` have the article's original objects.
"""

from machines import POOLS

from apportion_policy import (
    SPREAD,
    Cluster,
    Engine,
    Environment,
    Organisation,
    Placement,
    Policy,
    PriorityClass,
    Queue,
    QueueOverride,
    Resources,
)

AI = Queue(
    id="ai-queue",
    title="AI workloads",
    owner="@acme/ai",
    namespaces=("ai",),
    limit=Resources(cpu=32, memory="128Gi", gpu=8),
)
HIGH = PriorityClass(
    name="ai-high-priority", value=1_000_000, preemptible=True, description="High priority for AI workloads"
)

policy = Policy(
    organisation=Organisation(name="ai-scheduling", owner="@acme/platform"),
    queues=(AI,),
    priority_classes=(HIGH,),
    node_pools=POOLS,
    environments=(
        Environment(
            name="plain",
            clusters=(
                Cluster(
                    name="kubernetes",
                    engine=Engine.NATIVE,
                    engine_version="1.34",
                    pools=POOLS,
                    placement=Placement(cpu=SPREAD),
                ),
            ),
        ),
        Environment(
            name="batch",
            clusters=(Cluster(name="volcano", engine=Engine.VOLCANO, engine_version="1.13.0", pools=POOLS),),
            overrides=(QueueOverride(queue=AI, limit=Resources(cpu=100, memory="200Gi", gpu=16)),),
        ),
    ),
)
