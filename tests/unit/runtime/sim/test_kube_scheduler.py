"""kube-scheduler: filters, scores and preemption, rule by rule, and from the view of a plain cluster's user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from apportion_runtime.core.snapshot import Node, Pod
from apportion_runtime.engines.kube_scheduler.node_search import feasible_nodes_to_find
from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts, pod_facts
from apportion_runtime.engines.kube_scheduler.profiles import Profile
from apportion_runtime.engines.kube_scheduler.scores import balance_score, fit_score, resource_score
from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.reader import read_scenario
from apportion_runtime.snapshots.pod_requests import amounts, pod_requests

Made = dict[str, Any]
GPU = "nvidia.com/gpu"


def run(text: str, *objects: Made) -> tuple[History, Cluster]:
    cluster = Cluster(objects, read_scenario(text, lambda name: [], NATIVE.workload_labels), NATIVE)
    return cluster.run(), cluster


def nodes_of(history: History, workload: str = "") -> list[str]:
    return [fact.node for fact in history.facts if fact.what == "bound" and workload in ("", fact.workload)]


def why(history: History, workload: str) -> str:
    return next(fact.why for fact in history.facts if fact.what == "waiting" and fact.workload == workload)


def priority(name: str, value: int, **more: Any) -> Made:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **more,
    }


def configuration(*profiles: Made) -> Made:
    kind = "KubeSchedulerConfiguration"
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "scheduler"},
        "profiles": list(profiles),
    }


def scoring(strategy: str, **resources: int) -> Made:
    weights = [{"name": name.replace("_", "/"), "weight": weight} for name, weight in resources.items()]
    args = {"scoringStrategy": {"type": strategy, "resources": weights}}
    return {"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}


def test_a_job_starts_with_its_first_pods_whatever_its_minimum() -> None:
    job = "{name: job, kind: Job, pods: 4, min: 4, gpus: 1, duration: 10m}"
    history, _ = run(f"nodes: [{{pool: gpu, count: 1, gpus: 2, cpu: 8, memory: 8Gi}}]\nworkloads: [{job}]")
    assert (history.workloads[0].started_s, history.waits[0].until_s) == (0.0, 0.0)


def test_pod_request_is_the_larger_of_containers_and_init_container() -> None:
    def asks(cpu: str, **more: Any) -> Made:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {"containers": [asks("1"), asks("500m")], "overhead": {"cpu": "100m"}}
    assert pod_requests(spec) == {"cpu": 1600}
    assert pod_requests({**spec, "initContainers": [asks("3")]}) == {"cpu": 3100}
    # A sidecar stays, so that it counts beside the containers, and beside the init containers after it.
    sidecar = asks("1", restartPolicy="Always")
    assert pod_requests({**spec, "initContainers": [sidecar, asks("3")]}) == {"cpu": 4100}
    limited = {**spec, "resources": {"limits": {"cpu": "8", "memory": "1Ki"}}}
    assert pod_requests(limited) == {"cpu": 1600, "memory": 1024}
    assert pod_requests({"containers": [{}]}, nonzero=True) == {"cpu": 100, "memory": 200 * 1024**2}


def facts(requests: Mapping[str, Any]) -> PodFacts:
    made = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}
    return pod_facts(made, Pod("u", "p", "ns", None), priority=0, may_preempt=True)


def state(allocatable: Mapping[str, Any], requests: Mapping[str, Any]) -> NodeState:
    made = NodeState(Node("n", {}), amounts(allocatable))
    if requests:
        made.add(facts(requests))
    return made


HALF_FULL = {"cpu": "4", "memory": "8Gi", GPU: "1"}
NODE = {"cpu": "8", "memory": "16Gi", GPU: "4"}


@pytest.mark.parametrize(
    ("strategy", "asked", "score"),
    [
        # Half of cpu and memory is held, and a quarter of each is asked.
        ("LeastAllocated", {"cpu": "2", "memory": "4Gi"}, 25),
        ("MostAllocated", {"cpu": "2", "memory": "4Gi"}, 75),
        # A device counts only for a pod that asks for one: (25 + 25 + 100 * 50) / 102.
        ("LeastAllocated", {"cpu": "2", "memory": "4Gi", GPU: "1"}, 49),
        ("MostAllocated", {"cpu": "2", "memory": "4Gi", GPU: "2"}, 75),
        # What asks for nothing counts for a little.
        ("LeastAllocated", {}, (48 + 48) // 2),
    ],
)
def test_fit_scores_match_kubernetes(strategy: str, asked: Made, score: int) -> None:
    profile = Profile(strategy=strategy, resources={GPU: 100, "cpu": 1, "memory": 1})
    assert fit_score(facts(asked), state(NODE, HALF_FULL), profile) == score


def test_requested_to_capacity_ratio_shape() -> None:
    profile = Profile(strategy="RequestedToCapacityRatio", resources={"cpu": 1}, shape=((0, 0), (100, 10)))
    assert fit_score(facts({"cpu": "2"}), state(NODE, HALF_FULL), profile) == 75


def test_balanced_allocation_score() -> None:
    resources = {"cpu": 1, "memory": 1}
    empty = state(NODE, {})
    assert balance_score(facts({"cpu": "4", "memory": "8Gi"}), empty, resources) == 75
    # Half of the cpu and none of the memory: a deviation of a quarter, so 25 points less, of which half count.
    assert balance_score(facts({"cpu": "4"}), empty, resources) == 50 + (50 + 75 - 100) // 2


@pytest.mark.parametrize(
    ("asked", "balanced", "is_scored"),
    [
        ({GPU: "1"}, ("cpu", "memory"), False),
        ({GPU: "1"}, ("cpu", GPU), True),
        ({"memory": "1Gi"}, ("cpu", "memory"), True),
        ({}, ("cpu", "memory"), False),
    ],
)
def test_balance_is_scored_if_one_of_its_resources_is_requested(
    asked: Made, balanced: tuple[str, ...], is_scored: bool
) -> None:
    weights = {"NodeResourcesBalancedAllocation": 1}
    profile = Profile(weights=weights, balanced=dict.fromkeys(balanced, 1))
    assert (resource_score(facts(asked), state(NODE, HALF_FULL), profile) > 0) is is_scored


@pytest.mark.parametrize(("n_nodes", "wanted"), [(99, 99), (100, 100), (1000, 420), (5000, 500), (10_000, 500)])
def test_large_clusters_are_sampled(n_nodes: int, wanted: int) -> None:
    assert feasible_nodes_to_find(n_nodes, Profile()) == wanted


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        (("GPUAffinity",), "unknown plugin GPUAffinity;"),
        (("GPUAffinity", "RackAffinity"), "unknown plugins GPUAffinity, RackAffinity;"),
    ],
)
def test_unknown_plugins_prevent_start(plugins: tuple[str, ...], message: str) -> None:
    score = {"plugins": {"score": {"enabled": [{"name": name, "weight": 2} for name in plugins]}}}
    with pytest.raises(UnreadableError, match=message):
        run(TWO, configuration({"schedulerName": "ai-scheduler", **score}))


@pytest.mark.parametrize(
    ("point", "before", "name"), [("score", "preScore", "PodTopologySpread"), ("filter", "preFilter", "NodePorts")]
)
def test_plugins_without_their_preparation_prevent_start(point: str, before: str, name: str) -> None:
    without = {"plugins": {"multiPoint": {"disabled": [{"name": name}]}, point: {"enabled": [{"name": name}]}}}
    message = f"profile `ai-scheduler` enables {name} for `{point}` without `{before}`; kube-scheduler would fail"
    with pytest.raises(UnreadableError, match=message):
        run(TWO, configuration({"schedulerName": "ai-scheduler", **without}))


def test_invalid_configuration_is_named() -> None:
    with pytest.raises(UnreadableError, match="invalid KubeSchedulerConfiguration: "):
        run("nodes: [{pool: n}]", {**configuration(), "profiles": ["default-scheduler"]})


def test_pod_with_invalid_amount_is_rejected() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "lots"}}}
    spec = {"completions": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    history, _ = run(f"until: 1m\nnodes: [{{pool: n}}]\nworkloads: [{{manifest: {manifest}}}]")
    denied = next(fact.why for fact in history.facts if fact.what == "denied")
    assert denied.startswith('Pod "j-0" is invalid: `lots` is not a quantity')


TWO = "nodes: [{pool: gpu, count: 2, gpus: 4, cpu: 32, memory: 128Gi}]\n"
FOUR_JOBS = "workloads: [{name: j, kind: Job, pods: 4, gpus: 1, duration: 1h}]"


@pytest.mark.parametrize(("strategy", "n_nodes"), [("LeastAllocated", 2), ("MostAllocated", 1)])
def test_profile_selects_spreading_or_packing(strategy: str, n_nodes: int) -> None:
    packing = configuration({"schedulerName": "default-scheduler", **scoring(strategy, **{"nvidia.com_gpu": 1})})
    history, _ = run(TWO + FOUR_JOBS, packing)
    assert len(set(nodes_of(history))) == n_nodes


@pytest.mark.parametrize(
    ("nodes", "spec", "said"),
    [
        ("{pool: a, gpus: 1}", {"gpus": 2}, "1 Insufficient nvidia.com/gpu"),
        ("{pool: a, pods: 0}", {}, "1 Too many pods"),
        ("{pool: a, taints: [{key: k, value: v, effect: NoSchedule}]}", {}, "1 node(s) had untolerated taint(s)"),
        ("{pool: a}", {"node_selector": {"zone": "x"}}, "1 node(s) didn't match Pod's node affinity/selector"),
        (
            "{pool: a, cpu: 1}, {pool: b, memory: 1Gi}",
            {"cpu": 2},
            "1 Insufficient cpu, 1 Insufficient memory",
        ),
    ],
)
def test_unschedulable_message(nodes: str, spec: Made, said: str) -> None:
    history, _ = run(
        f"until: 1m\nnodes: [{nodes}]\nworkloads: [{{name: p, kind: Pod, **: 0}}]".replace("**: 0", _flow(spec))
    )
    n_nodes = nodes.count("pool")
    told = why(history, "p")
    assert told.startswith(f"0/{n_nodes} nodes are available: {said}. preemption: 0/{n_nodes} nodes are available:")


def _flow(spec: Made) -> str:
    return ", ".join(f"{key}: {value}" for key, value in {"startup": 0, **spec}.items())


def test_drained_or_failed_node_accepts_no_pod() -> None:
    history, _ = run(
        TWO.replace("count: 2", "count: 1")
        + """
until: 10m
workloads: [{name: j, kind: Job, gpus: 1, at: 2m, duration: 1m}]
events: [{at: 1m, node: gpu-0000, what: drains}, {at: 5m, node: gpu-0000, what: joins}]
"""
    )
    assert "1 node(s) were unschedulable" in why(history, "j")
    assert history.workloads[0].started_s == 300.0


HIGH, LOW = priority("high", 1000), priority("low", 10)
ONE = "nodes: [{pool: gpu, count: 1, gpus: 4, cpu: 32, memory: 128Gi}]\n"


def test_preemption_evicts_the_least_important_pods() -> None:
    history, _ = run(
        ONE
        + """
workloads:
  - {name: middle, kind: Job, priority: middle, gpus: 1, duration: 1h}
  - {name: old, kind: Job, priority: low, gpus: 2, duration: 1h}
  - {name: young, kind: Job, priority: low, gpus: 1, at: 1m, duration: 1h}
  - {name: urgent, kind: Job, priority: high, gpus: 1, at: 10m, duration: 1h}
""",
        HIGH,
        LOW,
        priority("middle", 100),
    )
    assert [(taken.pod.split("-")[0], taken.action, taken.for_workload) for taken in history.taken] == [
        ("young", "preempt", 3)
    ]
    # It gets the place when the grace is over.
    assert history.workloads[3].started_s == 630.0


@pytest.mark.parametrize(
    ("urgent", "said"),
    [
        (priority("high", 1000, preemptionPolicy="Never"), "preemption: not eligible due to preemptionPolicy=Never."),
        (priority("high", 10), "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."),
    ],
)
def test_preemption_policy_never(urgent: Made, said: str) -> None:
    history, _ = run(
        ONE
        + """
workloads:
  - {name: work, kind: Job, priority: low, gpus: 4, duration: 1h}
  - {name: urgent, kind: Job, priority: high, gpus: 1, at: 10m, duration: 1m}
""",
        urgent,
        LOW,
    )
    assert history.taken == []
    assert why(history, "urgent").endswith(said)
    assert history.workloads[1].started_s == 3602.0


def spread_pod(name: str, zone: str | None = None, **constraint: Any) -> Made:
    said = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **constraint}
    spec: Made = {
        "containers": [{"name": "c"}],
        "topologySpreadConstraints": [{**said, "labelSelector": {"matchLabels": {"app": "x"}}}],
        **({"nodeSelector": {"zone": zone}} if zone else {}),
    }
    return {"template": {"metadata": {"labels": {"app": "x"}}, "spec": spec}, "replicas": 5}


ZONES = """
until: 1m
nodes: [{pool: a, count: 2, labels: {zone: a}}, {pool: b, labels: {zone: b}}, {pool: c, labels: {zone: c}}, {pool: d}]
"""


def deployment(spec: Made) -> str:
    return f"workloads: [{{manifest: {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, spec: {spec}}}}}]"


def test_topology_spread_max_skew() -> None:
    history, _ = run(ZONES + deployment(spread_pod("d")))
    zones = [node[0] for node in nodes_of(history)]
    assert sorted(map(zones.count, "abc")) == [1, 2, 2]
    assert "d" not in zones, "a node without the label is none of the domains"


def test_pods_violating_the_skew_are_pending() -> None:
    # The other zones count only for pods that may run there.
    history, _ = run(ZONES + deployment(spread_pod("d", "a", nodeAffinityPolicy="Ignore")))
    assert len(nodes_of(history)) == 1
    assert "2 node(s) didn't match pod topology spread constraints" in why(history, "d")
    assert len(nodes_of(run(ZONES + deployment(spread_pod("d", "a")))[0])) == 5


def test_soft_topology_spread() -> None:
    wish = spread_pod("d", whenUnsatisfiable="ScheduleAnyway", maxSkew=1)
    history, _ = run(ZONES + deployment(wish))
    zones = [node[0] for node in nodes_of(history)]
    assert len(zones) == 5
    assert min(map(zones.count, "abc")) >= 1


def test_pod_affinity_and_anti_affinity() -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
            ]
        }
    }
    spec = {
        "replicas": 3,
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "c"}], "affinity": apart},
        },
    }
    history, _ = run("until: 1m\n" + TWO + deployment(spec))
    assert sorted(nodes_of(history)) == ["gpu-0000", "gpu-0001"]
    assert "2 node(s) didn't match pod anti-affinity rules" in why(history, "d")


def test_pod_of_another_scheduler_is_ignored() -> None:
    spec = {"replicas": 1, "template": {"spec": {"schedulerName": "elsewhere", "containers": [{"name": "c"}]}}}
    history, _ = run("until: 1m\n" + TWO + deployment(spec))
    assert nodes_of(history) == []
    assert why(history, "d") == "scheduler elsewhere does not exist"


def test_scheduling_gates() -> None:
    spec = {"schedulingGates": [{"name": "example.com/wait"}], "containers": [{"name": "c"}]}
    text = (
        f"until: 1m\n{TWO}workloads: [{{manifest: {{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {spec}}}}}]"
    )
    history, cluster = run(text)
    assert nodes_of(history) == []
    assert cluster.cluster_state.n_pending == 0


def test_suspended_job_has_no_pods() -> None:
    template = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}}
    spec = {"suspend": True, "completions": 1, "template": template}
    text = f"until: 1m\n{TWO}workloads: [{{manifest: {{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {spec}}}}}]"
    history, cluster = run(text)
    assert (nodes_of(history), cluster.cluster_state.pods) == ([], {})
    running = cluster.workloads.running[0]
    cluster.workloads.change(0, {**running.manifest, "spec": {**running.manifest["spec"], "suspend": False}})
    assert len(cluster.cluster_state.pods) == 1
    cluster.workloads.change(0, {**running.manifest, "spec": {**running.manifest["spec"], "suspend": True}})
    while cluster.cluster_state.pods:
        assert cluster.step()
    assert cluster.workloads.running[0].is_suspended


def test_partial_gang_holds_nodes_without_progress() -> None:
    history, _ = run(
        "until: 2h\n"
        + ONE
        + """
workloads:
  - {name: first, kind: PyTorchJob, pods: 3, gpus: 1, duration: 10m}
  - {name: second, kind: PyTorchJob, pods: 3, gpus: 1, duration: 10m, at: 1s}
"""
    )
    # The second has one of its three places while the first runs: nothing keeps gangs together here.
    assert next(fact.at_s for fact in history.facts if fact.what == "bound" and fact.workload == "second") == 1.0
    assert [facts.outcome for facts in history.workloads] == ["succeeded", "succeeded"]
    assert history.workloads[1].started_s == history.workloads[0].finished_s
