"""Jobs under Kueue beyond full admission: partial admission, maximum execution time, and pod readiness."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.engines.kueue.model import MODEL as KUEUE
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]
_API = "kueue.x-k8s.io/v1beta2"
_LEAST = "kueue.x-k8s.io/job-min-parallelism"
_NODES = "nodes: [{pool: n, count: 2, gpus: 4, cpu: 16, memory: 64Gi}]\nuntil: 3h\n"


def _queue(name: str, gpus: int, **spec: Any) -> list[Made]:
    quotas = [{"name": resource, "nominalQuota": 1000} for resource in ("cpu",)]
    quotas += [{"name": "memory", "nominalQuota": "1Ti"}, {"name": "nvidia.com/gpu", "nominalQuota": gpus}]
    groups = [{"coveredResources": [each["name"] for each in quotas], "flavors": [{"name": "f", "resources": quotas}]}]
    own = {"cohortName": "all", "namespaceSelector": {}, "resourceGroups": groups, **spec}
    return [
        {"apiVersion": _API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": own},
        {"apiVersion": _API, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "ns"},
         "spec": {"clusterQueue": name}},
    ]  # fmt: skip


_FLAVOR = {"apiVersion": _API, "kind": "ResourceFlavor", "metadata": {"name": "f"}}

_HIGH = (
    {"apiVersion": _API, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 10},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1},
)


def _configuration(**values: Any) -> Made:
    return {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "metadata": {"name": "c"}, **values}


def _run(workloads: str, *objects: Made, events: str = "") -> History:
    text = f"{_NODES}workloads:\n{workloads}\n{events}"
    return Cluster([_FLAVOR, *objects], read_scenario(text, lambda name: [], KUEUE.workload_labels), KUEUE).run()


def _of(history: History, workload: str, what: str) -> list[Fact]:
    return [fact for fact in history.facts if fact.workload == workload and fact.what == what]


def _at(history: History, workload: str, what: str) -> list[float]:
    return [fact.at_s for fact in _of(history, workload, what)]


def _line(name: str, pods: int, **more: Any) -> str:
    own = {"name": name, "kind": "Job", "namespace": "ns", "queue": "a", "gpus": 1, "pods": pods, "duration": "10m"}
    return f"  - { ({**own, **more}) }\n"


def test_partial_admission() -> None:
    """Three of eight are admitted beside the other job; the eight are done by three at a time."""
    jobs = _line("whole", 1) + _line("part", 8, at="1m", annotations={_LEAST: "2"})
    history = _run(jobs, *_queue("a", 4))
    (reserved,) = _of(history, "part", "reserved")
    assert reserved.why == "Quota reserved in ClusterQueue a, flavors f, 3 of 8 pods"
    starts = [fact.at_s for fact in history.facts if fact.workload == "part" and fact.what == "bound"]
    assert starts == [60.0] * 3 + [662.0] * 3 + [1264.0] * 2
    assert history.workloads[1].outcome == "succeeded"


def test_partial_admission_adjusts_completions() -> None:
    more = {_LEAST: "2", "kueue.x-k8s.io/job-completions-equal-parallelism": "true"}
    history = _run(_line("part", 8, annotations=more), *_queue("a", 4))
    assert len(_at(history, "part", "bound")) == 4
    assert _at(history, "part", "finished") == [602.0]


def test_partial_admission_respects_the_minimum() -> None:
    history = _run(_line("whole", 3) + _line("part", 8, at="1m", annotations={_LEAST: "2"}), *_queue("a", 4))
    assert _at(history, "part", "admitted") == [602.0]


def test_preempted_partial_job_requests_all_pods() -> None:
    """Its size is as it was; once the urgent one is done, all eight devices are its own."""
    preemption = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    jobs = _line("other", 4) + _line("part", 8, at="1m", annotations={_LEAST: "2"}, checkpoint="1s")
    jobs += _line("urgent", 8, at="11m", priority="high")
    history = _run(jobs, *_queue("a", 8, **preemption), *_HIGH)
    sizes = [fact.why.rpartition(", ")[2] for fact in _of(history, "part", "reserved")]
    assert sizes == ["4 of 8 pods", "flavors f"]
    assert history.workloads[1].outcome == "succeeded"


@pytest.mark.parametrize("said", ["8", "0", "many", "-1"])
def test_invalid_minimum_is_refused(said: str) -> None:
    history = _run(_line("part", 8, annotations={_LEAST: said}), *_queue("a", 4))
    assert history.workloads[0].outcome == "refused"
    assert history.workloads[0].why_waiting == (
        f'Job ns/part: metadata.annotations[{_LEAST}]: Invalid value: "{said}": should be between 0 and 7'
    )


@pytest.mark.parametrize(
    ("labels", "annotations", "why"),
    [
        ({"kueue.x-k8s.io/max-exec-time-seconds": "0"}, {}, "should be greater than 0"),
        ({}, {"kueue.x-k8s.io/elastic-job": "true"}, "enables workload slices, which are not simulated"),
    ],
)
def test_unsupported_annotations_are_refused(labels: Made, annotations: Made, why: str) -> None:
    history = _run(_line("job", 1, labels=labels, annotations=annotations), *_queue("a", 4))
    assert history.workloads[0].outcome == "refused"
    assert why in history.workloads[0].why_waiting


def test_maximum_execution_time_includes_earlier_runs() -> None:
    """It ran for five minutes before it was preempted, and five more are left of its ten."""
    preemption = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    jobs = _line("slow", 4, duration="1h", labels={"kueue.x-k8s.io/max-exec-time-seconds": "600"})
    jobs += _line("urgent", 4, at="5m", priority="high", duration="10m")
    history = _run(jobs, *_queue("a", 4, **preemption), *_HIGH)
    first, again = _at(history, "slow", "admitted")
    assert first == 0.0
    assert _at(history, "slow", "deactivated") == [again + 300.0]
    assert history.workloads[0].why_waiting == "The workload is deactivated: exceeding the maximum execution time"


@pytest.mark.parametrize(
    ("said", "evicted"), [({}, [900.0]), ({"recoveryTimeout": "1m"}, [660.0]), ({"recoveryTimeout": "0s"}, [])]
)
def test_unrecovered_pod_evicts_the_workload(said: Made, evicted: list[float]) -> None:
    """The node fails at 5 min, is given up at 10, and its pods have nowhere to go; without a word the timeout counts."""
    config = _configuration(waitForPodsReady={"timeout": "5m", **said})
    history = _run(
        _line("job", 8, duration="2h", checkpoint="1s"), *_queue("a", 8), config,
        events="events: [{at: 301s, node: n-0001, what: fails}]\ntiming: {node_lost: 299s}",
    )  # fmt: skip
    assert _at(history, "job", "evicted")[:1] == evicted[:1]


def test_ignored_configuration_is_reported() -> None:
    config = _configuration(admissionFairSharing={"usageHalfLifeTime": "5m"}, featureGates={"PartialAdmission": False})
    cluster = Cluster(
        [_FLAVOR, *_queue("a", 4, admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"}), config],
        read_scenario(_NODES, lambda name: []),
        KUEUE,
    )
    said = [fault.message for fault in cluster.cluster_state.records.faults]
    assert said == [
        "admissionFairSharing is not simulated: past usage has no effect",
        "featureGates are not simulated: PartialAdmission",
        "admissionScope is not simulated: past usage has no effect",
    ]


def test_default_local_queue_is_used() -> None:
    _, local = _queue("a", 4)
    default = {**local, "metadata": {"name": "default", "namespace": "ns"}}
    history = _run(_line("mine", 2, queue=""), *_queue("a", 4), default)
    assert history.workloads[0].queue == "a"
    assert _at(history, "mine", "admitted") == [0.0]
    outside = _run(_line("mine", 2, queue=""), *_queue("a", 4))
    assert _at(outside, "mine", "admitted") == []
