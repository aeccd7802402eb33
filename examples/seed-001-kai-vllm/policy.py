"""Training and serving in one queue of KAI Scheduler: vLLM on Ray preempts a Ray cluster that runs training.

The article sets the quota of both queues to `-1`. KAI limits non-preemptible workloads, such as serving, to the
guarantee, which is therefore two GPUs here. Training is preemptible, and may borrow the third GPU while it is idle.
`literal.py` and `literal.yaml` have the article's original objects. `workloads.yaml` has the simulated workloads, with
two to three workers instead of two, and with GPU limits, which Kubernetes requires.
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
