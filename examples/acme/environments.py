"""Where the policy is in force. Staging and dev promise a part of what prod does."""

from pools import A100, H100, LAB_A100, LAB_H100, LAB_ORDINARY, ORDINARY

from apportion_policy import (
    SPREAD,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    Placement,
    QueueOverride,
    Resources,
    Topology,
)

BLOCKS = Topology(
    name="blocks",
    levels=(
        "cloud.google.com/gce-topology-block",
        "cloud.google.com/gce-topology-subblock",
        "kubernetes.io/hostname",
    ),
)

DEV = Environment(
    name="dev",
    clusters=(
        Cluster(
            name="lab",
            engine=Engine.KAI,
            engine_version="0.17.0",
            pools=(LAB_H100, LAB_A100, LAB_ORDINARY),
            share="1/8",
        ),
    ),
)

STAGING = Environment(
    name="staging",
    clusters=(
        Cluster(
            name="gpu-eu",
            engine=Engine.KAI,
            engine_version="0.17.0",
            pools=(H100, A100, ORDINARY),
            share="1/4",
            topologies=(BLOCKS,),
        ),
    ),
    overrides=(QueueOverride(queue="assistant", limit=Resources(gpu={"h100": 48}), priority=120),),
)

PROD = Environment(
    name="prod",
    clusters=(
        Cluster(
            name="gpu-eu",
            engine=Engine.KAI,
            engine_version="0.17.0",
            pools=(H100, A100, ORDINARY),
            placement=Placement(cpu=SPREAD),
            topologies=(BLOCKS,),
            kai=KaiSettings(k_value="0.5", reclaim_min_runtime="10m"),
        ),
    ),
)

ENVIRONMENTS = (DEV, STAGING, PROD)
