from apportion_policy import Cluster, Engine, Environment, Fixed, NodePool, Organisation, Policy, Queue


def rack(name: str) -> NodePool:
    return NodePool(id=name, provider=Fixed(), cpu=64, memory="512Gi", max_nodes=4)  # AP604


NORTH = rack("north")
SOUTH = rack("south")  # AP604 called here

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(NORTH, SOUTH),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="racks", engine=Engine.KAI, engine_version="0.17.0", pools=(NORTH,)),),
        ),
    ),
)
