from apportion_policy import Cluster, Engine, Environment, Karpenter, NodePool, Organisation, Policy, Queue


def pool(name: str, role: str) -> NodePool:
    tags = {"karpenter.sh/discovery": "prod"}
    settings = Karpenter(role=role, ami_alias="al2023@v20260101", subnet_tags=tags, security_group_tags=tags)
    return NodePool(id=name, provider=settings, machine_type="m7i.4xlarge", max_nodes=4)  # AP616


POOLS = (
    pool("small", "nodes"),
    pool("large", "others"),  # AP616 called here
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=POOLS,
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod", clusters=(Cluster(name="aws", engine=Engine.KAI, engine_version="0.17.0", pools=POOLS),)
        ),
    ),
)
