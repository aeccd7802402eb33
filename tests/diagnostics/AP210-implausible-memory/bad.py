from apportion_policy import NodePool, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            guaranteed=Resources(  # AP210
                cpu=16,
                memory=64,
                gpu=8,
            ),
            limit=Resources(memory="512Ki"),  # AP210
        ),
    ),
    node_pools=(
        NodePool(id="ordinary", cpu=32, memory=120, max_nodes=4),  # AP210
    ),
)
