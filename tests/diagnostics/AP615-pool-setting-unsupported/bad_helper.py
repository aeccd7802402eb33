from apportion_policy import Eks, NodePool, Organisation, Policy, Queue


def pool(name: str, *zones: str) -> NodePool:
    return NodePool(id=name, provider=Eks(), machine_type="m7i.4xlarge", max_nodes=4, zones=zones)  # AP615


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        pool("small"),
        pool("large", "us-east-1a"),  # AP615 called here
    ),
    queues=(Queue(id="research"),),
)
