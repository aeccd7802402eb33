"""The environments: each has a cluster for each engine, with a share of each guarantee."""

from pools import ASIA, ASIA_QUEUED, BURST, EDGE, EU, HANGZHOU, LAB, RACK, US

from apportion_policy import (
    SPREAD,
    AckSettings,
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

# For each engine: its version, the name of its cluster in staging and prod, and the node pools of that cluster.
SITES = {
    Engine.KAI: ("0.17.0", "gpu-eu", EU),
    Engine.KUEUE: ("0.18.3", "queue-asia", ASIA),
    Engine.VOLCANO: ("1.16.0", "batch-us", US),
    Engine.KOORDINATOR: ("1.8.0", "rack", RACK),
    Engine.ACK: ("1.21", "hangzhou", HANGZHOU),
    Engine.YUNIKORN: ("1.8.0", "burst-us", BURST),
    Engine.NATIVE: ("1.34", "edge", EDGE),
}

# With a share of an eighth, every team with a guarantee still has at least one GPU.
EIGHTH = "1/8"


def site(engine, **settings):
    """Return the cluster of one engine, with the settings of an environment."""
    version, name, pools = SITES[engine]
    topologies = (BLOCKS,) if any(pool.topology for pool in pools) else ()
    here = {"name": name, "pools": pools, "topologies": topologies, "share": EIGHTH, **settings}
    return Cluster(engine=engine, engine_version=version, **here)


DEV = Environment(
    name="dev",
    clusters=tuple(site(engine, name=f"lab-{engine.value}", pools=LAB, topologies=()) for engine in SITES),
)

STAGING = Environment(
    name="staging",
    clusters=tuple(site(engine) for engine in SITES),
    overrides=(QueueOverride(queue="assistant", limit=Resources(gpu={"h100": 48, "a100": 32}), priority=120),),
)

PROD = Environment(
    name="prod",
    clusters=(
        site(
            Engine.KAI,
            share="1/4",
            placement=Placement(cpu=SPREAD),
            kai=KaiSettings(k_value="0.5", reclaim_min_runtime="10m"),
        ),
        site(Engine.KUEUE, pools=(*ASIA, ASIA_QUEUED)),
        site(Engine.VOLCANO),
        site(Engine.KOORDINATOR),
        site(Engine.ACK, ack=AckSettings(queue_policy="Priority")),
        site(Engine.YUNIKORN),
        site(Engine.NATIVE),
    ),
)

ENVIRONMENTS = (DEV, STAGING, PROD)
