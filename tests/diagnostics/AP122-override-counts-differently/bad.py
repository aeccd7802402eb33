# as-of: 2026-11-21
from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Override,
    Policy,
    Queue,
    QueueOverride,
    Resources,
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            limit=Resources(gpu={"h100": 8, "l4": 24}),
            overrides=(
                Override(  # AP122
                    begin="2026-12-01",
                    end="2026-12-15",
                    reason="release",
                    owner="@acme/vision-leads",
                    limit=Resources(gpu=40),
                ),
            ),
        ),
        Queue(id="speech", guaranteed=Resources(cpu=64, memory="1Ti", gpu=8)),
    ),
    node_pools=(NodePool(id="racks", max_nodes=4, cpu=64, memory="1Ti"),),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu", engine=Engine.KAI, engine_version="0.17.0"),),
            overrides=(QueueOverride(queue="speech", guaranteed=Resources(machines={"racks": 2})),),  # AP122
        ),
    ),
)
