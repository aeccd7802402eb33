"""Training and serving in one queue of KAI Scheduler: vLLM on Ray takes GPUs back from a Ray cluster that trains.

The article promises `-1` on both queues. Serving is not preemptible, and KAI lends such work nothing: the promise is
what bounds it, so here it is two GPUs. Training is preemptible, and may borrow the third GPU while it is idle.
`literal.py` and `literal.yaml` are the article's own form, `workloads.yaml` is what runs: two to three workers, where
its text has two, and GPUs as limits, which Kubernetes demands.
"""

from machines import GPU_NODES, ORDINARY

from apportion_policy import (
    INFERENCE,
    TRAIN,
    Cluster,
    Engine,
    Environment,
    Organisation,
    Policy,
    Queue,
    Resources,
)

TEAM_A = Queue(
    id="team-a",
    parent="department-1",
    namespaces=("team-a",),
    guaranteed=Resources(gpu=2),
    limit=Resources(gpu=3),
    priority_classes=(TRAIN, INFERENCE),
)
DEPARTMENT_1 = Queue(id="department-1", owner="@acme/platform", guaranteed=Resources(gpu=2), limit=Resources(gpu=3))

policy = Policy(
    organisation=Organisation(name="vllm-on-kai", owner="@acme/platform"),
    queues=(DEPARTMENT_1, TEAM_A),
    priority_classes=(TRAIN, INFERENCE),
    node_pools=(GPU_NODES, ORDINARY),
    environments=(
        Environment(
            name="demo",
            clusters=(Cluster(name="ray", engine=Engine.KAI, engine_version="0.17.0", pools=(GPU_NODES, ORDINARY)),),
        ),
    ),
)
