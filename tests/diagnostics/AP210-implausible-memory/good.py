from apportion_policy import NodePool, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision", guaranteed=Resources(memory="64Gi"), limit=Resources(memory=68719476736)),
        Queue(id="sidecars", guaranteed=Resources(memory="512Mi"), limit=Resources(memory="unlimited")),
        Queue(id="interns", guaranteed=Resources(memory=0)),
    ),
    node_pools=(NodePool(id="ordinary", cpu=32, memory="120Gi", max_nodes=4),),
)
