from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Topology

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="gpu-1",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    topologies=(
                        Topology(name="leaf-spine", levels=("acme.io/block", "acme.io/rack", "kubernetes.io/hostname")),
                        Topology(name="zones", levels=("topology.kubernetes.io/zone",)),
                    ),
                ),
            ),
        ),
    ),
)
