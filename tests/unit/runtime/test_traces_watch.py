"""Conversion of a recorded watch to nodes and workloads. The objects here are fictional."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apportion_runtime.sim.traces.records import JobEnd, Limits, Source, Trace, TraceError, TraceJob, TraceNode
from apportion_runtime.sim.traces.scenario import scenario_of
from apportion_runtime.sim.traces.watch import WatchRules, read_watch

_START = 1_514_764_800.0
"""2018-01-01T00:00:00Z."""


def _at(seconds: int) -> str:
    return f"2018-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"


def _pod(
    name: str, created: int, started: int | None = None, ended: int | None = None, phase: str = "", **changed: Any
) -> dict[str, Any]:
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": _at(started)}] if started else []
    states = [{"state": {"terminated": {"finishedAt": _at(ended)}}}] if ended else []
    resources = {"requests": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"}}
    metadata = {"name": name, "namespace": "vision", "uid": name, "creationTimestamp": _at(created)}
    return {
        "kind": "Pod",
        "metadata": {**metadata, **changed.get("metadata", {})},
        "spec": {"containers": [{"name": "main", "resources": resources}], **changed.get("spec", {})},
        "status": {
            "phase": phase or ("Running" if started else "Pending"),
            "conditions": conditions,
            "containerStatuses": states,
            **changed.get("status", {}),
        },
    }


def _node(name: str = "n-1", created: int = 0, **status: Any) -> dict[str, Any]:
    allocatable = {"cpu": "63500m", "memory": "100Gi", "pods": "30", "nvidia.com/gpu": "8", "rdma/hca": "2"}
    return {
        "kind": "Node",
        "metadata": {
            "name": name, "uid": name, "creationTimestamp": _at(created), "labels": {"zone": "a"},
        },
        "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
        "status": {"allocatable": {**allocatable, "ephemeral-storage": "10Gi"}, **status},
    }  # fmt: skip


def _owned(kind: str, name: str = "train") -> dict[str, Any]:
    return {"ownerReferences": [{"kind": kind, "name": name, "controller": True}]}


def _event(made: object, kind: str = "ADDED") -> dict[str, Any]:
    return {"type": kind, "object": made}


def _read(*events: object, rules: WatchRules | None = None) -> Trace:
    return read_watch(Source("watch.json", "".join(json.dumps(event) + "\n" for event in events)), rules)


def _jobs(*pods: dict[str, Any], rules: WatchRules | None = None) -> tuple[TraceJob, ...]:
    trace = _read(*(_event(pod) for pod in pods), rules=rules)
    assert [skip.text for skip in trace.skips] == []
    return trace.jobs


def test_pod_is_a_job_with_its_last_state() -> None:
    trace = _read(_event(_pod("a", 10)), _event(_pod("a", 10, 20, 90, "Succeeded"), "MODIFIED"))
    assert trace.jobs == (
        TraceJob("vision-a", "watch.json", 1, "vision", "train", 2000, 1024, 1, arrives_s=0.0, stays_s=70.0),
    )
    assert (trace.start, trace.n_rows, trace.skips, trace.warnings) == (_START + 10, 1, (), ())


@pytest.mark.parametrize(
    ("pod", "kind", "life"),
    [
        (_pod("a", 10), "ADDED", (None, JobEnd.OPEN)),
        (_pod("a", 10, 20), "ADDED", (None, JobEnd.OPEN)),
        (_pod("a", 10, 20, 80, "Failed"), "ADDED", (60.0, JobEnd.FAILED)),
        (_pod("a", 10, 20, metadata={"deletionTimestamp": _at(90), "deletionGracePeriodSeconds": 30}), "DELETED",
         (40.0, JobEnd.STOPPED)),
        (_pod("a", 10, metadata={"deletionTimestamp": _at(70)}), "DELETED", (60.0, JobEnd.NEVER_RAN)),
        (_pod("a", 10, status={"startTime": _at(15)}, metadata={"deletionTimestamp": _at(70)}), "MODIFIED",
         (55.0, JobEnd.STOPPED)),
        (_pod("a", 10, 5), "DELETED", (0.0, JobEnd.STOPPED)),
    ],
)  # fmt: skip
def test_life_of_a_pod(pod: dict[str, Any], kind: str, life: tuple[float | None, JobEnd]) -> None:
    """The last is deleted with no other time than the one at which it was scheduled, on a clock that is slow."""
    (job,) = _read(_event(pod, kind)).jobs
    assert (job.stays_s, job.end) == life


@pytest.mark.parametrize(
    "metadata",
    [
        _owned("Job"),
        _owned("PodGroup"),
        {"annotations": {"pod-group-name": "train"}},
        {"annotations": {"scheduling.k8s.io/group-name": "train"}},
        {"labels": {"kueue.x-k8s.io/pod-group-name": "train"}},
        {"labels": {"pod-group.scheduling.sigs.k8s.io": "train"}},
    ],
)
def test_pods_of_a_group_are_one_gang(metadata: dict[str, Any]) -> None:
    pods = [_pod(f"w-{i}", 10 + i, 30 + i, 90 + i, "Succeeded", metadata=metadata) for i in range(3)]
    (job,) = _jobs(*pods)
    assert (job.name, job.n_pods, job.stays_s, job.end) == ("vision-train", 3, 62.0, JobEnd.SUCCEEDED)


def test_replaced_pods_are_not_counted_twice() -> None:
    """The second was created as the first failed."""
    first = _pod("w-0", 10, 20, 50, "Failed", metadata=_owned("Job"))
    (job,) = _jobs(first, _pod("w-1", 50, 60, 90, "Succeeded", metadata=_owned("Job")))
    assert (job.n_pods, job.stays_s, job.end) == (1, 70.0, JobEnd.SUCCEEDED)


def test_pods_of_other_owners_are_separate_jobs() -> None:
    pods = [_pod(f"web-{i}", 10, 20, metadata=_owned("ReplicaSet")) for i in range(2)]
    assert [(job.name, job.n_pods) for job in _jobs(*pods)] == [("vision-web-0", 1), ("vision-web-1", 1)]


def test_pods_with_different_requests_are_separate_jobs_and_reported() -> None:
    small = _pod("w-1", 10, 20, metadata=_owned("Job"), spec={"containers": [{"name": "main"}]})
    trace = _read(_event(_pod("w-0", 10, 20, metadata=_owned("Job"))), _event(small))
    assert [(job.name, job.cpu_milli) for job in trace.jobs] == [("vision-train", 2000), ("vision-train-2", 0)]
    assert trace.warnings == (
        "1 group has pods with different requests; pods with the same requests form one job, which starts independently",
    )


@pytest.mark.parametrize(
    ("metadata", "queue"),
    [
        ({}, "vision"),
        ({"labels": {"kai.scheduler/queue": "team-a"}}, "team-a"),
        ({"labels": {"kueue.x-k8s.io/queue-name": "team-a"}}, "team-a"),
        ({"annotations": {"scheduling.volcano.sh/queue-name": "team-a"}}, "team-a"),
        ({"labels": {"queue": "root.team-a"}}, "root-team-a"),
    ],
)
def test_queue_is_the_one_that_the_pod_names(metadata: dict[str, Any], queue: str) -> None:
    assert _jobs(_pod("a", 10, metadata=metadata))[0].queue == queue


def test_rules_map_queues_and_priorities() -> None:
    rules = WatchRules({"vision": "research"}, {"high": "inference"}, "build")
    found = _jobs(_pod("a", 10), _pod("b", 10, spec={"priorityClassName": "high"}), rules=rules)
    assert [(job.queue, job.priority) for job in found] == [("research", "build"), ("research", "inference")]
    assert _jobs(_pod("a", 10, metadata={"labels": {"priorityClassName": "low"}}))[0].priority == "low"


def test_requests_limits_selectors_and_tolerations_are_kept() -> None:
    containers = [
        {"resources": {"requests": {"cpu": "500m", "memory": "1", "rdma/hca": 1, "ephemeral-storage": "1Gi"}}},
        {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "3Gi"}}},
    ]
    toleration = {"key": "gpu", "operator": "Exists", "tolerationSeconds": 30}
    spec = {"containers": containers, "nodeSelector": {"zone": "a"}, "tolerations": [toleration]}
    (job,) = _jobs(_pod("a", 10, spec=spec))
    assert (job.cpu_milli, job.memory_mib, job.disk_mib, job.gpus) == (1500, 1025, 1024, 0)
    assert (job.extended, job.limits) == ((("rdma/hca", 1),), Limits(4000, 3072))
    pod = dict(scenario_of(Trace("watch", (), (job,))).works[0].manifest)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"zone": "a"}
    assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


def test_fractions_of_devices_are_read() -> None:
    annotations = {"gpu-fraction": "0.25", "gpu-fraction-num-devices": "2"}
    job = _jobs(_pod("a", 10, metadata={"annotations": annotations}, spec={"containers": []}))[0]
    assert (job.gpus, job.gpu_milli) == (2, 250)


def test_node_is_read() -> None:
    trace = _read(_event(_node()), _event(_pod("a", 10)))
    assert trace.nodes == (
        TraceNode(
            "n-1", 63_500, 102_400, 8, "", 10_240, (("rdma/hca", 2),), 30, (("zone", "a"),),
            (("gpu", "yes", "NoSchedule"),),
        ),
    )  # fmt: skip
    made = scenario_of(trace).objects[0]
    assert made["spec"]["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    assert made["status"]["allocatable"] == {
        "cpu": "63500m", "memory": "102400Mi", "pods": "30", "rdma/hca": "2", "ephemeral-storage": "10240Mi",
        "nvidia.com/gpu": "8",
    }  # fmt: skip
    assert made["metadata"]["labels"]["zone"] == "a"


def test_daemon_pods_reduce_what_their_node_has() -> None:
    """One that ended does not, and is reported."""
    containers = [
        {"resources": {"requests": {"cpu": "500m", "memory": "1", "rdma/hca": "1", "ephemeral-storage": "1Gi"}}}
    ]
    spec = {"containers": containers, "nodeName": "n-1"}
    daemons = [_pod(f"d-{i}", 0, metadata=_owned(kind), spec=spec) for i, kind in enumerate(("DaemonSet", "Node"))]
    ended = _pod("d-3", 0, metadata=_owned("DaemonSet"), spec=spec, phase="Failed")
    trace = _read(*(_event(made) for made in (*daemons, _node(), ended)))
    (node,) = trace.nodes
    assert (node.cpu_milli, node.memory_mib, node.gpus, node.disk_mib) == (62_500, 102_399, 8, 8192)
    assert (node.extended, node.n_pods) == ((("rdma/hca", 0),), 28)
    assert (trace.jobs, len(trace.skips), trace.n_rows) == ((), 1, 4)


def test_nodes_join_and_leave_at_their_times() -> None:
    """A deleted node leaves at its last heartbeat; its successor of the same name gets another."""
    gone = _node("n-2", 40, conditions=[{"lastHeartbeatTime": _at(70), "lastTransitionTime": _at(45)}])
    again = {**_node("n-2", 80), "metadata": {**_node("n-2", 80)["metadata"], "uid": "other"}}
    trace = _read(_event(_pod("a", 10)), _event(_node()), _event(gone), _event(gone, "DELETED"), _event(again))
    assert [(node.name, node.joins_s, node.leaves_s) for node in trace.nodes] == [
        ("n-1", 0.0, None),
        ("n-2", 30.0, 60.0),
        ("n-2-run2", 70.0, None),
    ]
    scenario = scenario_of(trace)
    assert [made["metadata"]["name"] for made in scenario.objects] == ["n-1"]
    assert [(incident.at_s, incident.what) for incident in scenario.incidents] == [
        (30.0, "made"),
        (60.0, "deleted"),
        (70.0, "made"),
    ]
    assert scenario.incidents[1].object == ("Node", "", "n-2")


def test_names_that_differ_only_in_invalid_characters_stay_different() -> None:
    trace = _read(*(_event(made) for made in (_node("a.b"), _node("a-b"), _pod("a.b", 10), _pod("a-b", 10))))
    assert [node.name for node in trace.nodes] == ["a-b", "a-b-run2"]
    assert [job.name for job in trace.jobs] == ["vision-a-b", "vision-a-b-2"]


def test_node_deleted_at_an_unknown_time_is_reported() -> None:
    trace = _read(_event(_node(), "DELETED"))
    assert trace.nodes[0].leaves_s is None
    assert trace.warnings == ("1 node was deleted at an unknown time; the simulation keeps it",)


def test_placement_that_is_not_replayed_is_reported() -> None:
    trace = _read(_event(_pod("a", 10, spec={"affinity": {"podAffinity": {}}})))
    assert trace.warnings == ("1 pod has affinity, which the simulation ignores",)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"kind": "Job", "metadata": {"name": "j"}}, "the Job is neither a node nor a pod"),
        (
            _pod("a", 0, metadata=_owned("DaemonSet")),
            "a DaemonSet pod or static pod is not on a node at the end",
        ),
        (
            _pod("a", 0, metadata=_owned("Node"), spec={"nodeName": "n-9"}),
            "the recording does not include the pod's node",
        ),
        (_pod("a", 0, metadata={"annotations": {"gpu-memory": "2000"}}), "the pod requests GPU memory (gpu-memory)"),
        (_pod("a", 0, phase="Failed"), "the pod ended at an unknown time"),
    ],
)
def test_valid_object_that_is_not_replayed_is_reported(made: dict[str, Any], said: str) -> None:
    trace = _read(_event(_pod("b", 10)), _event(made))
    assert trace.faults == ()
    assert [(skip.line, skip.reason[: len(said)]) for skip in trace.skips] == [(2, said)]
    assert trace.n_rows == 2


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            _pod("a", 0, metadata={"creationTimestamp": None}),
            "the pod has no metadata.creationTimestamp; set it",
        ),
        (
            _pod("a", 0, metadata={"creationTimestamp": "soon"}),
            "metadata.creationTimestamp `soon` is not a time such as 2026-11-21 08:00:00; correct metadata.",
        ),
        (_pod("a", 0, spec={"containers": 3}), "the pod's resources are invalid ("),
        (
            _pod("a", 0, metadata={"annotations": {"gpu-fraction": "much"}}),
            "gpu-fraction `much` is not a fraction of a device; correct the annotation",
        ),
        (_node(allocatable={"cpu": "x"}), "the node's status.allocatable is invalid ("),
    ],
)
def test_invalid_object_is_reported(made: dict[str, Any], said: str) -> None:
    trace = _read(_event(_pod("b", 10)), _event(made))
    assert len(trace.faults) == 1
    assert trace.faults[0].text.startswith(f"watch.json:2: {said}")


def test_interrupted_watch_is_reported() -> None:
    status = {"kind": "Status", "message": "too old resource version: 1 (2)"}
    trace = _read(_event(_pod("b", 10)), {"type": "BOOKMARK", "object": {}}, _event(status, "ERROR"))
    (fault,) = trace.faults
    assert fault.text == (
        "watch.json:3: the watch was interrupted: too old resource version: 1 (2); remove the event if the rest of the "
        "recording suffices"
    )


def test_lists_and_indented_documents_are_read() -> None:
    """Those of `kubectl get nodes -o json` before the events, and events over several lines."""
    text = (
        json.dumps({"kind": "List", "items": [_node()]}, indent=2) + "\n" + json.dumps(_event(_pod("a", 1)), indent=2)
    )
    trace = read_watch(Source("watch.json", text))
    assert ([node.name for node in trace.nodes], [job.name for job in trace.jobs]) == (["n-1"], ["vision-a"])
    assert trace.jobs[0].line > 10


_CURE = "record the objects with kubectl get pods"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", rf"watch\.json:1: the file contains no watch events; {_CURE}"),
        ("\n[]", rf"watch\.json:2: the JSON document is neither a watch event nor a List; {_CURE}"),
        ('{"kind": "Pod"}', r"watch\.json:1: the JSON document is neither a watch event nor a List"),
        ('{"type": "ADDED", "object": {}}', r"watch\.json:1: the event's object has no kind or name"),
        ('{"kind": "List", "items": [3]}', r"watch\.json:1: `items` of the List must be a list of objects; record"),
        ('{"type": "NEW", "object": {}}', r"watch\.json:1: the JSON document is neither"),
        (
            "NAME READY\na 1/1\n",
            r"watch\.json:1: invalid JSON \(Expecting value\); record .* remove the last event if",
        ),
        ('{"type": "ADDED",\n"object"', r"watch\.json:2: invalid JSON \("),
    ],
)
def test_other_files_are_refused(text: str, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        read_watch(Source("watch.json", text))
