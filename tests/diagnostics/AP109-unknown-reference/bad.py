from datetime import date

from apportion_policy import (
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
    Waiver,
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    rules=Rules(severity={"AP299": RuleSeverity.WARNING, "AP102": RuleSeverity.OFF}),  # AP109
    queues=(
        Queue(
            id="research",
            guaranteed=Resources(machines={"h200": 4}),  # AP109
        ),
        Queue(id="vision", parent="research", pools=("h100", "a10"), priority_classes=("trains",)),  # AP109
        Queue(
            id="speech",
            parent="research",
            overrides=(
                Override(  # AP109
                    begin=date(2026, 11, 1),
                    end=date(2026, 12, 31),
                    reason="conference deadline",
                    owner="@acme/platform",
                    environments=("production",),
                    guaranteed=Resources(gpu=4),
                ),
            ),
        ),
    ),
    priority_classes=(
        PriorityClass(name="train", value=50, preemptible=True),
        PriorityClass(name="serving", value=90, preemptible=False, queues=("inference",)),  # AP109
    ),
    provisioning_plans=(ProvisioningPlan(id="dws"),),
    node_pools=(
        NodePool(id="h100", accelerator=Accelerator(model="h100", count=8), max_nodes=4),
        NodePool(  # AP109
            id="h100-queued",
            provider=Gke(),
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=4,
            provisioning="dsw",
        ),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=("h100", "h10")),  # AP109
            ),
            overrides=(
                QueueOverride(queue="spech", guaranteed=Resources(gpu=2)),  # AP109
                QueueOverride(queue="speech", clusters=("gpu-l",), guaranteed=Resources(gpu=2)),  # AP109
            ),
        ),
    ),
    waivers=(
        Waiver(  # AP109
            code="AP999",
            address="queue research",
            reason="agreed in the capacity review",
            owner="@acme/platform",
            expires=date(2027, 1, 31),
        ),
    ),
)
