from apportion_policy import Accelerator, Cluster, Engine, Environment, NodePool, Organisation, Policy, Topology

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        NodePool(id="gpu", accelerator=Accelerator(model="h100", count=8), max_nodes=8, topology="leaf-spine"),
        NodePool(id="ordinary", cpu=32, memory="120Gi", max_nodes=4),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="gpu-1",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=("gpu", "ordinary"),
                    topologies=(Topology(name="leaf-spine", levels=("acme.io/block", "acme.io/rack")),),
                ),
            ),
        ),
    ),
)
