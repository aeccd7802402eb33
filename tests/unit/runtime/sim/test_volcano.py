"""Volcano: its gangs and its actions, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.engines.volcano.configuration import ConfigurationError, read_configuration
from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]
GPU = "nvidia.com/gpu"


ACTIONS = "enqueue, allocate, preempt, reclaim, backfill"


def config_map(
    actions: str = ACTIONS, gang: str = "", plugins: str = "", capacity: str = "{name: capacity, enableHierarchy: true}"
) -> Made:
    text = f"""
actions: "{actions}"
tiers:
- plugins:
  - {{name: priority}}
  - {{name: gang{gang}}}
  - {{name: conformance}}
  - {capacity}
  - {{name: predicates}}
  - {{name: nodeorder}}
{plugins}
"""
    name = {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"volcano-scheduler.conf": text}}


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([], "ConfigMap volcano-scheduler-configmap does not exist"),
        ([config_map(plugins="  - {name: drf}")], "Volcano's drf plugin is not simulated"),
        ([config_map(actions="allocate, shuffle")], "Volcano's shuffle action is not simulated"),
        ([config_map(capacity="{name: nodeorder}")], "cannot be simulated without the capacity plugin"),
        (
            [config_map(capacity="{name: capacity, enableQueueOrder: false}")],
            "enableQueueOrder: false of Volcano's capacity plugin is not simulated",
        ),
    ],
)
def test_unsupported_configuration_is_refused(objects: list[Made], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read_configuration(objects)


def queue(name: str, **spec: Any) -> Made:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"parent": "root", **spec},
    }


def run(text: str, *objects: Made, config: Made | None = None) -> History:
    scenario = read_scenario(text, lambda name: [], VOLCANO.workload_labels)
    return Cluster((config or config_map(), *objects), scenario, VOLCANO).run()


def first(history: History, what: str, workload: str) -> Any:
    return next(fact for fact in history.facts if fact.what == what and fact.workload == workload)


def count(history: History, what: str, workload: str) -> int:
    return sum(fact.what == what and fact.workload == workload for fact in history.facts)


A = queue("a", deserved={GPU: "2"})
B = queue("b", deserved={GPU: "2"})
ONE = "nodes: [{pool: gpu, count: 2, gpus: 2, cpu: 32, memory: 128Gi}]\n"


def test_gang_starts_as_a_whole() -> None:
    history = run(
        ONE
        + """
workloads:
  - {name: three, kind: Job, queue: a, pods: 3, min: 3, gpus: 1, duration: 10m}
  - {name: two, kind: Job, queue: a, pods: 2, min: 2, gpus: 1, at: 1s, duration: 10m}
""",
        A,
    )
    assert count(history, "bound", "three") == 3
    assert first(history, "bound", "two").at_s == 602.0
    why = first(history, "waiting", "two").why
    # The one free device is no use to two pods: preempt has it promised to one, and given to neither.
    assert why.startswith(
        "2/2 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 Pipelined, 2 minAvailable; "
    )
    assert "; 1 pod: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu." in why


def test_pods_without_gang_start_individually() -> None:
    history = run(ONE + "workloads: [{name: six, kind: Job, queue: a, pods: 6, gpus: 1, duration: 10m}]", A)
    assert [fact.at_s for fact in history.facts if fact.what == "bound"] == [0.0] * 4 + [602.0] * 2


def test_pod_group_sets_queue_and_gang() -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "ai-job-group", "namespace": "default"},
        "spec": {"queue": "a", "minMember": 4, "minResources": {"cpu": "4", "memory": "16Gi", GPU: "4"}},
    }
    pods = "{name: p, kind: Pod, gpus: 1, count: COUNT, every: 1m, annotations: {scheduling.k8s.io/group-name: ai-job-group}, duration: 10m}"
    text = ONE + "until: 1h\nworkloads: [" + pods + "]"
    waiting = run(text.replace("COUNT", "3"), A, group)
    assert not any(fact.what == "bound" for fact in waiting.facts)
    history = run(text.replace("COUNT", "4"), A, group)
    assert {fact.at_s for fact in history.facts if fact.what == "bound"} == {180.0}
    assert history.workloads[0].queue == "a"


def test_pods_of_a_missing_pod_group_are_ignored() -> None:
    pods = "{name: p, kind: Pod, gpus: 1, annotations: {scheduling.k8s.io/group-name: training}}"
    history = run(ONE + "until: 1h\nworkloads: [" + pods + "]", A)
    assert first(history, "waiting", "p").why == "PodGroup default/training does not exist"
    assert history.workloads[0].queue == ""


@pytest.mark.parametrize("field", ["networkTopology", "subGroupPolicy"])
def test_topologies_of_pod_groups_are_refused(field: str) -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "training"},
        "spec": {"queue": "a", "minMember": 1, field: {"mode": "hard"}},
    }
    pods = "{name: p, kind: Pod, gpus: 1, annotations: {scheduling.k8s.io/group-name: training}}"
    history = run(ONE + "until: 1h\nworkloads: [" + pods + "]", A, group)
    assert first(history, "refused", "p").why == f"Pod p: spec.{field} of PodGroup training is not simulated; remove it"


@pytest.mark.parametrize("name", ["mode", "highest-tier"])
def test_topologies_of_pods_are_refused(name: str) -> None:
    pod = f'{{name: p, kind: Pod, queue: a, gpus: 1, annotations: {{volcano.sh/network-topology-{name}: "1"}}}}'
    history = run(ONE + "until: 1h\nworkloads: [" + pod + "]", A)
    said = f"Pod p: the annotation volcano.sh/network-topology-{name} is not simulated; remove it"
    assert first(history, "refused", "p").why == said


@pytest.mark.parametrize(
    ("spec", "task", "field"),
    [
        ({"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}, {}, "spec.networkTopology"),
        ({}, {"partitionPolicy": {"totalPartitions": 1, "partitionSize": 1}}, "spec.tasks[0].partitionPolicy"),
    ],
)
def test_topologies_of_volcano_jobs_are_refused(spec: Made, task: Made, field: str) -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {GPU: "1"}}}]}}
    tasks = [{"name": "w", "replicas": 1, "template": template, **task}]
    manifest = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "vc"},
        "spec": {"queue": "a", "minAvailable": 1, "tasks": tasks, **spec},
    }
    history = run(ONE + f"workloads: [{{manifest: {manifest}, duration: 10m}}]", A)
    assert first(history, "refused", "vc").why == f"Job vc: {field} is not simulated; remove it"


def test_volcano_job_is_a_gang() -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", GPU: "1"}}}]}}
    manifest = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "vc"},
        "spec": {
            "queue": "a",
            "minAvailable": 3,
            "tasks": [
                {"name": "ps", "replicas": 1, "template": template},
                {"name": "worker", "replicas": 3, "template": template},
            ],
        },
    }
    history = run(ONE + f"workloads: [{{manifest: {manifest}, duration: 10m}}]", A)
    assert {fact.pod for fact in history.facts if fact.what == "bound"} == {
        "vc-ps-0",
        "vc-worker-0",
        "vc-worker-1",
        "vc-worker-2",
    }
    assert history.workloads[0].outcome == "succeeded"


def test_jobs_exceeding_their_queue_are_not_enqueued() -> None:
    history = run(
        ONE + "until: 1h\nworkloads: [{name: j, kind: Job, queue: bounded, pods: 3, min: 3, gpus: 1, duration: 10m}]",
        queue("bounded", capability={GPU: "2"}),
    )
    assert first(history, "waiting", "j").why == "queue resource quota insufficient: insufficient nvidia.com/gpu"
    assert count(history, "bound", "j") == 0


def test_missing_queue_is_reported() -> None:
    history = run(ONE + "until: 1m\nworkloads: [{name: j, kind: Job, queue: nowhere, duration: 1m}]")
    assert first(history, "waiting", "j").why == "queue nowhere does not exist"


BORROWED = """
workloads:
  - {name: borrower, kind: Job, queue: a, pods: 4, gpus: 1, duration: 1h}
  - {name: owner, kind: Job, queue: b, pods: 2, min: 2, gpus: 1, at: 10m, duration: 10m}
"""


def test_queue_reclaims_up_to_deserved() -> None:
    history = run(ONE + BORROWED, A, B)
    assert count(history, "evicted", "borrower") == 2
    assert {(taken.action, taken.for_workload) for taken in history.taken} == {("reclaim", 1)}
    assert history.workloads[1].started_s == 630.0


@pytest.mark.parametrize(
    ("lender", "config"),
    [
        (queue("a", deserved={GPU: "2"}, reclaimable=False), None),
        (queue("a", deserved={GPU: "2"}, guarantee={"resource": {GPU: "4"}}), None),
        (A, config_map(actions="enqueue, allocate, preempt, backfill")),
    ],
)
def test_no_reclaim_if_disabled(lender: Made, config: Made | None) -> None:
    history = run(ONE + BORROWED, lender, B, config=config)
    assert history.taken == []


def test_gang_plugin_protects_gangs() -> None:
    gangs = BORROWED.replace("pods: 4,", "pods: 4, min: 4,")
    assert run(ONE + gangs, A, B).taken == []
    open_to_all = config_map(gang=", enableReclaimable: false, enablePreemptable: false")
    assert len(run(ONE + gangs, A, B, config=open_to_all).taken) == 2


def test_non_preemptible_work_is_not_evicted() -> None:
    said = BORROWED.replace("queue: a,", "queue: a, annotations: {volcano.sh/preemptable: 'false'},")
    pod = said.replace(
        "{name: borrower, kind: Job, queue: a, annotations",
        "{name: borrower, kind: Pod, count: 4, queue: a, annotations",
    ).replace("pods: 4, ", "", 1)
    assert run(ONE + pod, A, B).taken == []


def classes() -> tuple[Made, ...]:
    api = "scheduling.k8s.io/v1"
    return tuple(
        {"apiVersion": api, "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("high", 100), ("low", 10))
    )


def test_preemption_within_a_queue() -> None:
    history = run(
        ONE
        + """
workloads:
  - {name: low, kind: Job, queue: a, priority: low, pods: 4, gpus: 1, duration: 1h}
  - {name: high, kind: Job, queue: a, priority: high, pods: 2, min: 2, gpus: 1, at: 10m, duration: 10m}
  - {name: elsewhere, kind: Job, queue: b, priority: high, pods: 1, gpus: 1, at: 10m, duration: 10m}
""",
        queue("a"),
        queue("b", reclaimable=True),
        *classes(),
    )
    assert {(taken.action, taken.for_workload) for taken in history.taken} == {("preempt", 1)}
    assert len(history.taken) == 2


def test_unschedulable_gang_evicts_nothing() -> None:
    history = run(
        ONE
        + """
workloads:
  - {name: low, kind: Job, queue: a, priority: low, pods: 4, gpus: 1, duration: 1h}
  - {name: high, kind: Job, queue: a, priority: high, pods: 5, min: 5, gpus: 1, at: 10m, duration: 10m}
""",
        queue("a"),
        *classes(),
    )
    assert history.taken == []


def test_backfill_of_best_effort_pods() -> None:
    spec = {"schedulerName": "volcano", "containers": [{"name": "c"}]}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert run(ONE + f"workloads: [{{manifest: {manifest}, duration: 1m}}]").workloads[0].outcome == "succeeded"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (queue("a", capability={GPU: "many"}), "invalid Queue a: `many` is not a quantity"),
        (queue("a", deserved=["gpus"]), "invalid Queue a: "),
    ],
)
def test_invalid_queue_is_named(wrong: Made, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        run(ONE, wrong)


@pytest.mark.parametrize("text", ["actions: [", "- a", "tiers: 3\nactions: allocate", "tiers: [{plugins: [gang]}]"])
def test_invalid_configuration_is_named(text: str) -> None:
    config = config_map()
    with pytest.raises(UnreadableError, match="ConfigMap volcano-scheduler-configmap"):
        run(ONE, config={**config, "data": {"volcano-scheduler.conf": text}})


def test_unsupported_plugin_ends_the_simulation() -> None:
    with pytest.raises(UnreadableError, match="drf plugin is not simulated"):
        run(ONE, config=config_map(plugins="  - {name: drf}"))


def node(name: str, n_pods: int, **spec: Any) -> Made:
    held = {"cpu": "32", "memory": "128Gi", "pods": str(n_pods)}
    labels = {"kubernetes.io/hostname": name}
    metadata = {"name": name, "labels": labels}
    status = {"allocatable": held, "capacity": held, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


@pytest.mark.parametrize(("n_pods", "n_evicted"), [(2, 1), (3, 0)])
@pytest.mark.parametrize(("other", "action"), [("a", "preempt"), ("b", "reclaim")])
def test_pods_are_evicted_for_a_place_on_a_node(n_pods: int, n_evicted: int, other: str, action: str) -> None:
    history = run(
        f"""
until: 20m
workloads:
  - {{name: low, kind: Job, queue: {other}, priority: low, pods: 2, cpu: 1, gpus: 0, duration: 1h}}
  - {{name: high, kind: Job, queue: a, priority: high, cpu: 1, gpus: 0, at: 10m, duration: 5m}}
""",
        node("full", n_pods),
        queue("a", deserved={"cpu": "8"}),
        queue("b"),
        *classes(),
    )
    assert [taken.action for taken in history.taken] == [action] * n_evicted


def test_resources_of_cordoned_nodes_count_for_queues() -> None:
    history = run(
        """
until: 10m
workloads: [{name: two, kind: Job, queue: a, pods: 2, cpu: 16, gpus: 0, duration: 1m}]
""",
        node("open", 10),
        node("cordoned", 10, unschedulable=True),
        queue("a"),
        queue("b", guarantee={"resource": {"cpu": "32"}}),
        config=config_map(capacity="{name: capacity}"),
    )
    assert history.workloads[0].outcome == "succeeded"


GROUPS = "  - {name: nodegroup, arguments: {strict: false}}"


def grouped(name: str, *groups: str) -> Made:
    affinity = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(groups)}}
    return queue(name, affinity=affinity)


@pytest.mark.parametrize(("made", "n_bound"), [(grouped("a", "left"), 2), (grouped("a", "left", "right"), 4), (A, 0)])
def test_queue_node_groups(made: Made, n_bound: int) -> None:
    text = """
nodes:
  - {pool: l, count: 1, gpus: 2, cpu: 32, memory: 128Gi, labels: {volcano.sh/nodegroup-name: left}}
  - {pool: r, count: 1, gpus: 2, cpu: 32, memory: 128Gi, labels: {volcano.sh/nodegroup-name: right}}
until: 1m
workloads: [{name: four, kind: Job, queue: a, pods: 4, gpus: 1, duration: 10m}]
"""
    assert count(run(text, made, config=config_map(plugins=GROUPS)), "bound", "four") == n_bound
