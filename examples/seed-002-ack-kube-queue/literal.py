"""The team of the guide on the guide's machines: three machines with 8 cores and 32 GiB, without GPUs.

`apportion validate examples/seed-002-ack-kube-queue/literal.py` reports the problem: two GPUs are guaranteed on a
cluster without GPUs.
"""

from apportion_policy import Ack, Cluster, Engine, Environment, NodePool, Organisation, Policy, Queue, Resources

DEFAULT = NodePool(
    id="default", provider=Ack(), machine_type="ecs.g7.2xlarge", cpu=8, memory="32Gi", min_nodes=3, max_nodes=3
)

VIDEO = Queue(
    id="video",
    parent="algorithm",
    namespaces=("video",),
    guaranteed=Resources(cpu=12, memory="12Gi", gpu=2),
    limit=Resources(cpu=14, memory="14Gi", gpu=4),
)

policy = Policy(
    organisation=Organisation(name="ray-on-ack", owner="@acme/platform"),
    queues=(Queue(id="algorithm"), VIDEO),
    node_pools=(DEFAULT,),
    environments=(
        Environment(
            name="demo",
            clusters=(Cluster(name="ray", engine=Engine.ACK, engine_version="1.21", pools=(DEFAULT,)),),
        ),
    ),
)
