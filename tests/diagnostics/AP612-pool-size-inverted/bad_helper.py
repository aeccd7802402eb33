from apportion_policy import Gke, NodePool, Organisation, Policy, Queue


def pool(name: str, min_nodes: int) -> NodePool:
    return NodePool(id=name, provider=Gke(), min_nodes=min_nodes, max_nodes=8)  # AP612


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        pool("small", 2),
        pool("large", 16),  # AP612 called here
    ),
    queues=(Queue(id="research"),),
)
