"""Conversion of the openb trace's lists to nodes and workloads, with every row accounted for.

The rows here are fictional.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Work
from apportion_runtime.sim.traces.openb import OpenbRules, read_openb
from apportion_runtime.sim.traces.records import JobEnd, Source, Trace, TraceError, TraceJob, TraceNode
from apportion_runtime.sim.traces.scenario import node_object, scenario_of, work_of

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
node-a,96000,393216,8,G2
node-b,32000,262144,0,
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-1,12000,16384,1,1000,,LS,Running,0,500,20
pod-2,6000,12288,1,460,,BE,Failed,10,60,10
pod-3,6000,12288,8,1000,G2|V100M32,Burstable,Pending,30,90,
pod-4,4000,8192,0,0,,Guaranteed,Succeeded,5,45,15
"""
_HEADING = PODS.splitlines()[0]


def _read(pods: str = PODS, nodes: str = NODES, rules: OpenbRules | None = None) -> Trace:
    return read_openb(Source("nodes.csv", nodes), Source("pods.csv", pods), rules)


def test_nodes_are_read() -> None:
    assert _read().nodes == (TraceNode("node-a", 96_000, 393_216, 8, "G2"), TraceNode("node-b", 32_000, 262_144))


def test_pods_are_ordered_by_arrival() -> None:
    like = TraceJob("", "pods.csv", 0, "", "", 6000, 12_288)
    assert _read().jobs == (
        replace(like, name="pod-1", line=2, queue="serving", priority="inference", cpu_milli=12_000, memory_mib=16_384,
                gpus=1, arrives_s=0.0, stays_s=480.0, end=JobEnd.STOPPED),
        replace(like, name="pod-4", line=5, queue="development", priority="build", cpu_milli=4000, memory_mib=8192,
                arrives_s=5.0, stays_s=30.0),
        replace(like, name="pod-2", line=3, queue="training", priority="train", gpus=1, gpu_milli=460, arrives_s=10.0,
                stays_s=50.0, end=JobEnd.FAILED),
        replace(like, name="pod-3", line=4, queue="development", priority="build-preemptible", gpus=8,
                gpu_models=("G2", "V100M32"), arrives_s=30.0, stays_s=60.0, end=JobEnd.NEVER_RAN),
    )  # fmt: skip


def test_pods_of_a_list_without_times_arrive_in_turn_and_stay() -> None:
    listed = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\npod-1,12000,16384,1,1000\npod-2,4000,8192,1,460\n"
    like = TraceJob("", "pods.csv", 0, "training", "train", 12_000, 16_384, gpus=1, end=JobEnd.OPEN)
    assert _read(listed).jobs == (
        replace(like, name="pod-1", line=2, arrives_s=0.0),
        replace(like, name="pod-2", line=3, cpu_milli=4000, memory_mib=8192, gpu_milli=460, arrives_s=1.0),
    )


def test_every_row_is_counted() -> None:
    trace = _read()
    assert (trace.n_rows, len(trace.nodes), len(trace.jobs), trace.skips) == (6, 2, 4, ())


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("p,1,1,1,1000,,LS,Running,0,5", ("the row has 10 fields, but the header has 11; "
         "give every row one field per column")),
        ("p,x,1,1,1000,,LS,Running,0,5,0", ("cpu_milli `x` is not a non-negative integer; "
         "correct cpu_milli in this row")),
        ("p,1,-1,1,1000,,LS,Running,0,5,0", ("memory_mib `-1` is not a non-negative integer; "
         "correct memory_mib in this row")),
        ("p,1,1,1,1001,,LS,Running,0,5,0", ("gpu_milli 1001 is not a fraction of a device; "
         "use 1 to 1000, in thousandths of each device")),
        ("p,1,1,1,0,,LS,Running,0,5,0", ("gpu_milli 0 is not a fraction of a device; "
         "use 1 to 1000, in thousandths of each device")),
        ("p,1,1,1,1000,,Gold,Running,0,5,0", ("the rules do not define QoS `Gold`; "
         "add it to the rules, or use one of BE, Burstable, Guaranteed, LS")),
        ("p,1,1,1,1000,,LS,Lost,0,5,0", ("`Lost` is not a pod phase; "
         "use one of Running, Pending, Unknown, Succeeded, Failed")),
        ("p,1,1,1,1000,,LS,Running,,5,0", "creation_time is missing; set it to the pod's creation time in seconds"),
        ("p,1,1,1,1000,,LS,Running,nan,5,0", ("creation_time `nan` is not a non-negative number of seconds; "
         "correct creation_time in this row")),
        ("p,1,1,1,1000,,LS,Running,3,5,2", ("creation_time, scheduled_time and deletion_time are not in ascending order; "
         "correct the times in this row")),
        ("p,1,1,1,1000,,LS,Running,0,5,6", ("creation_time, scheduled_time and deletion_time are not in ascending order; "
         "correct the times in this row")),
        ("pod-1,1,1,1,1000,,LS,Running,0,5,0", "`pod-1` is listed twice; give every row a unique name"),
        ("Pod_1,1,1,1,1000,,LS,Running,0,5,0", "`pod-1` is listed twice; give every row a unique name"),
        ("___,1,1,1,1000,,LS,Running,0,5,0", "`___` is not a valid name; use letters and digits"),
    ],
)  # fmt: skip
def test_invalid_row_is_reported_and_skipped(row: str, told: str) -> None:
    trace = _read(PODS + row + "\n")
    assert [skip.text for skip in trace.faults] == [f"pods.csv:6: {told}"]
    assert trace.n_rows == 7 == len(trace.nodes) + len(trace.jobs) + len(trace.skips)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("node-c,1,1,2,", "gpu is 2, but the node has no model; set the model if and only if the node has GPUs"),
        ("node-c,1,1,0,G2", "gpu is 0, but the node has model `G2`; set the model if and only if the node has GPUs"),
        ("node-a,1,1,0,", "`node-a` is listed twice; give every row a unique name"),
    ],
)
def test_invalid_node_is_reported(row: str, told: str) -> None:
    trace = _read(nodes=f"{NODES}\n{row}\n")
    assert [skip.text for skip in trace.skips] == [f"nodes.csv:5: {told}"]
    assert trace.n_rows == 7


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        ("", "pods.csv:1: missing column name, cpu_milli, memory_mib, num_gpu, gpu_milli; "),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos\n",
         "pods.csv:1: missing column gpu_spec, pod_phase, creation_time, deletion_time, scheduled_time; "),
        (PODS.replace("qos", "class"), "pods.csv:1: missing column qos; "),
        (_HEADING + ",qos\n", "pods.csv:1: the column `qos` occurs twice; "),
    ],
)  # fmt: skip
def test_invalid_pod_list_is_refused(pods: str, told: str) -> None:
    with pytest.raises(TraceError) as refused:
        _read(pods)
    assert str(refused.value) == told + "use the unmodified files of cluster-trace-gpu-v2023, with their header"


@pytest.mark.parametrize("changed", ["\ufeff" + PODS, PODS.replace("\n", "\r\n"), PODS + "\n\n"])
def test_bom_line_endings_and_empty_lines_are_ignored(changed: str) -> None:
    assert _read(changed) == _read()


def test_pod_without_deletion_time_runs_forever() -> None:
    trace = _read(f"{_HEADING}\np,1,1,1,1000,,LS,Running,7,,9\n")
    assert [(job.arrives_s, job.stays_s, job.end) for job in trace.jobs] == [(7.0, None, JobEnd.OPEN)]


def test_pods_of_a_class_are_distributed_by_name() -> None:
    rules = OpenbRules(queues={"LS": ("a", "b", "c")})
    rows = [f"p-{n},1,1,1,1000,,LS,Running,0,5,0" for n in range(60)]
    trace = _read("\n".join([_HEADING, *rows]), rules=rules)
    backwards = _read("\n".join([_HEADING, *rows[::-1]]), rules=rules)
    assert trace.queues == ("a", "b", "c")
    assert {job.name: job.queue for job in trace.jobs} == {job.name: job.queue for job in backwards.jobs}


def _works(trace: Trace) -> dict[str, Work]:
    return {work.manifest["metadata"]["name"]: work for work in scenario_of(trace).works}


def test_recorded_lifetimes() -> None:
    works = _works(_read())
    assert {name: (work.arrives_s, work.work_s, work.lifetime_s, work.fails) for name, work in works.items()} == {
        "pod-1": (0.0, 480.0, None, False),
        "pod-2": (10.0, 50.0, None, True),
        "pod-3": (30.0, None, 60.0, False),
        "pod-4": (5.0, 30.0, None, False),
    }


def test_gpu_share_becomes_a_fraction() -> None:
    made: Any = _works(_read())["pod-2"].manifest
    assert made["metadata"] == {
        "name": "pod-2",
        "namespace": "openb",
        "labels": {"kai.scheduler/queue": "training", "priorityClassName": "train"},
        "annotations": {"apportion.dev/trace-row": "pods.csv:3"},
    }
    template = made["spec"]["template"]
    assert template["metadata"]["annotations"] == {"gpu-fraction": "0.46"}
    assert template["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "6000m", "memory": "12288Mi"}


def test_multi_gpu_share_is_a_fraction_of_each() -> None:
    job = TraceJob("p", "f", 2, "q", "train", 1, 1, gpus=2, gpu_milli=505)
    template = work_of(job, "openb").manifest["spec"]["template"]
    assert template["metadata"]["annotations"] == {"gpu-fraction": "0.505", "gpu-fraction-num-devices": "2"}


@pytest.mark.parametrize(
    ("spec", "selector", "values"), [("", None, None), ("G2", "G2", None), ("G3|G2", None, ["G2", "G3"])]
)
def test_allowed_gpu_models_become_node_affinity(spec: str, selector: str | None, values: list[str] | None) -> None:
    pod = _works(_read(f"{_HEADING}\np,1,1,1,1000,{spec},LS,Running,7,9,9\n"))["p"].manifest["spec"]["template"]["spec"]
    assert pod.get("nodeSelector") == (selector and {"nvidia.com/gpu.product": selector})
    found = json.dumps(pod.get("affinity"))
    assert found == json.dumps(
        values
        and {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": values}]}
                    ]
                }
            }
        }
    )


def test_node_object() -> None:
    made: Any = node_object(_read().nodes[0])
    assert made["metadata"]["name"] == "node-a"
    assert made["metadata"]["labels"]["nvidia.com/gpu.product"] == "G2"
    assert made["status"]["allocatable"] == {
        "cpu": "96000m", "memory": "393216Mi", "pods": "110", "nvidia.com/gpu": "8",
    }  # fmt: skip


def _queue(name: str, parent: str | None) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec = {"resources": {"cpu": free, "gpu": free, "memory": free}}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {**spec, **({"parentQueue": parent} if parent else {})},
    }


def test_trace_runs_on_the_simulated_cluster() -> None:
    trace = _read()
    queues = [_queue("all", None), *(_queue(name, "all") for name in trace.queues)]
    history = Cluster(queues, scenario_of(trace)).run()
    assert {facts.name: facts.outcome for facts in history.workloads} == {
        "pod-1": "succeeded",
        "pod-2": "failed",
        "pod-3": "deleted",
        "pod-4": "succeeded",
    }
    assert {stay.node for stay in history.stays} == {"node-a", "node-b"}
