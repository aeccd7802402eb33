from apportion_policy import Karpenter, NodePool, Organisation, Policy, Queue


def pool(name: str, **labels: str) -> NodePool:
    shown = {key.replace("_", "/"): value for key, value in labels.items()}
    return NodePool(id=name, provider=Karpenter(), max_nodes=4, labels=shown)  # AP613


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        pool("small", tier="gold"),
        pool("large", **{"karpenter.sh_capacity-type": "spot"}),  # AP613 called here
    ),
    queues=(Queue(id="research"),),
)
