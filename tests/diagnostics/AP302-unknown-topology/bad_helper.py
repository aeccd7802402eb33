from apportion_policy import Accelerator, Cluster, Engine, Environment, NodePool, Organisation, Policy, Topology


def gpu_pool(name: str, topology: str) -> NodePool:
    return NodePool(  # AP302
        id=name, accelerator=Accelerator(model="h100", count=8), max_nodes=8, topology=topology
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        gpu_pool("gpu-a", "racks"),
        gpu_pool("gpu-b", "blocks"),  # AP302 called here
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="gpu-1",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    pools=("gpu-a", "gpu-b"),
                    topologies=(Topology(name="racks", levels=("acme.io/rack",)),),
                ),
            ),
        ),
    ),
)
