from datetime import date

from apportion_policy import (
    TRAIN,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Override,
    Policy,
    PriorityClass,
    ProvisioningPlan,
    Queue,
    QueueOverride,
    Resources,
    Rules,
    RuleSeverity,
)

dws = ProvisioningPlan(id="dws")
h100 = NodePool(id="h100", accelerator=Accelerator(model="h100", count=8), max_nodes=4)
research = Queue(id="research", guaranteed=Resources(machines={"h100": 4}))
speech = Queue(
    id="speech",
    parent=research,
    overrides=(
        Override(
            begin=date(2026, 11, 1),
            end=date(2026, 12, 31),
            reason="conference deadline",
            owner="@acme/platform",
            environments=("prod",),
            guaranteed=Resources(gpu=4),
        ),
    ),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    rules=Rules(severity={"AP201": RuleSeverity.WARNING, "AP102": RuleSeverity.ERROR}),
    queues=(research, Queue(id="vision", parent="research", pools=(h100,), priority_classes=(TRAIN,)), speech),
    priority_classes=(TRAIN, PriorityClass(name="serving", value=90, preemptible=False, queues=(research,))),
    provisioning_plans=(dws,),
    node_pools=(
        h100,
        NodePool(
            id="h100-queued",
            provider=Gke(),
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=4,
            provisioning=dws,
        ),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(h100,)),),
            overrides=(QueueOverride(queue=speech, guaranteed=Resources(gpu=2)),),
        ),
    ),
)
