"""Conversion of the list of inference instances to workloads, and the density limit. The rows here are fictional."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apportion_api.kubernetes.names import GPU_COUNT_LABEL, HOSTNAME_LABEL
from apportion_runtime.sim.scenario.format import Incident, NodeShape, Pool, Scenario
from apportion_runtime.sim.scenario.workload_labels import PLAIN_WORKLOAD_LABELS
from apportion_runtime.sim.traces.density import DENSITY_LABEL, with_density_resources
from apportion_runtime.sim.traces.dlrm import COLUMNS, DlrmRules, read_dlrm
from apportion_runtime.sim.traces.records import (
    Density,
    JobEnd,
    Limits,
    Source,
    Trace,
    TraceError,
    TraceJob,
    TraceNode,
    in_order,
)
from apportion_runtime.sim.traces.scenario import node_object, scenario_of

_ROW = {
    "instance_sn": "instance_7",
    "role": "HN",
    "app_name": "app_3",
    "cpu_request": "10",
    "cpu_limit": "10",
    "gpu_request": "1",
    "gpu_limit": "1",
    "rdma_request": "30",
    "rdma_limit": "30",
    "memory_request": "100.5",
    "memory_limit": "100.5",
    "disk_request": "500.0",
    "disk_limit": "700.0",
    "max_instance_per_node": "4",
    "creation_time": "100.0",
    "scheduled_time": "130.0",
    "deletion_time": "430.0",
}
_CPU = {"role": "CN", "gpu_request": "0", "gpu_limit": "0"}


def _row(**changed: str) -> str:
    return ",".join({**_ROW, **changed}.values())


def _read(*rows: str, rules: DlrmRules | None = None) -> Trace:
    return read_dlrm(Source("dlrm.csv", "\n".join([",".join(COLUMNS), *rows, ""])), rules)


def _one(**changed: str) -> TraceJob:
    trace = _read(_row(**changed))
    assert [skip.text for skip in trace.skips] == []
    return trace.jobs[0]


def _pod(job: TraceJob, **options: Any) -> dict[str, Any]:
    trace = Trace("dlrm", (), (job,))
    pod: dict[str, Any] = dict(scenario_of(trace, **options).works[0].manifest)["spec"]["template"]
    return pod


def test_instance_is_read() -> None:
    trace = _read(_row())
    assert trace.jobs == (
        TraceJob(
            "instance-7", "dlrm.csv", 2, "serving-gpu", "inference", 10_000, 102_912, 1,
            arrives_s=100.0, stays_s=300.0, end=JobEnd.STOPPED, disk_mib=512_000,
            extended=(("apportion.dev/rdma-percent", 30),), limits=Limits(disk_mib=716_800),
            density=Density("app-3", 4),
        ),
    )  # fmt: skip
    assert (trace.n_rows, trace.nodes, trace.warnings) == (1, (), ())


@pytest.mark.parametrize(
    ("times", "life"),
    [
        (("", "", ""), (0.0, None, JobEnd.OPEN)),
        (("NaN", "NaN", "90"), (0.0, 90.0, JobEnd.STOPPED)),
        (("", "20", "90"), (0.0, 70.0, JobEnd.STOPPED)),
        (("10", "20", ""), (10.0, None, JobEnd.OPEN)),
        (("10", "", "90"), (10.0, 80.0, JobEnd.NEVER_RAN)),
    ],
)
def test_life_follows_the_times(times: tuple[str, str, str], life: tuple[float, float | None, JobEnd]) -> None:
    job = _one(**dict(zip(("creation_time", "scheduled_time", "deletion_time"), times, strict=True)))
    assert (job.arrives_s, job.stays_s, job.end) == life


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"role": "XN"}, "the rules do not define role `XN`; add it to the rules, or use CN or HN"),
        ({"role": "CN"}, "an instance of role CN requests 1 GPU; use role HN, or 0 GPUs"),
        ({"gpu_limit": "2"}, "gpu_limit 2 differs from gpu_request 1; use equal values, as Kubernetes requires"),
        ({"rdma_request": "3.5"}, "rdma_request `3.5` is not a non-negative integer; correct rdma_request"),
        ({"disk_limit": "1"}, "disk_limit 1 is less than disk_request 500.0; correct disk_limit in this row"),
        ({"memory_request": "many"}, "memory_request `many` is not a non-negative number; correct memory_request"),
        ({"cpu_request": "-1"}, "cpu_request `-1` is not a non-negative number; correct cpu_request"),
        ({"max_instance_per_node": "0"}, "max_instance_per_node is 0, so no node accepts the instance; use -1"),
        ({"max_instance_per_node": "-2"}, "max_instance_per_node `-2` is not a non-negative integer"),
        ({"deletion_time": "110"}, "creation_time, scheduled_time and deletion_time are not in ascending order"),
        ({"creation_time": "soon"}, "creation_time `soon` is not a non-negative number of seconds"),
        ({"instance_sn": "--"}, "`--` is not a valid name; use letters and digits"),
    ],
)
def test_invalid_row_is_reported(changed: dict[str, str], said: str) -> None:
    trace = _read(_row(**changed), _row(instance_sn="other"))
    assert [job.name for job in trace.jobs] == ["other"]
    assert len(trace.skips) == 1
    assert trace.skips[0].text.startswith(f"dlrm.csv:2: {said}")


def test_instance_listed_twice_is_reported() -> None:
    assert [skip.text for skip in _read(_row(), _row()).skips] == [
        "dlrm.csv:3: `instance-7` is listed twice; give every row a unique name"
    ]


def test_other_columns_are_refused() -> None:
    with pytest.raises(
        TraceError, match=r"dlrm\.csv:1: missing column role, .*; use the unmodified file from cluster-"
    ):
        read_dlrm(Source("dlrm.csv", "instance_sn,name\n"))


def test_rules_map_roles() -> None:
    rules = DlrmRules({"CN": "a", "HN": "b"}, {"CN": "train", "HN": "build"})
    found = _read(_row(), _row(instance_sn="i", **_CPU), rules=rules).jobs
    assert [(job.queue, job.priority) for job in found] == [("b", "build"), ("a", "train")]


def test_several_limits_of_an_app_are_reported() -> None:
    """Each instance counts only against instances with its own limit, which differs from the trace's wording."""
    rows = (_row(), _row(instance_sn="b", max_instance_per_node="-1"), _row(instance_sn="c", app_name="app_4"))
    assert _read(*rows).warnings == (
        "1 app has several values of max_instance_per_node for one role; each applies only to the rows that set it",
    )


def test_requests_and_limits_are_in_the_pod() -> None:
    job = replace(_one(), limits=Limits(11_000, 102_913, 716_800), density=None)
    assert _pod(job)["spec"]["containers"][0]["resources"] == {
        "requests": {
            "cpu": "10000m", "memory": "102912Mi", "nvidia.com/gpu": "1", "apportion.dev/rdma-percent": "30",
            "ephemeral-storage": "512000Mi",
        },
        "limits": {
            "cpu": "11000m", "memory": "102913Mi", "nvidia.com/gpu": "1", "apportion.dev/rdma-percent": "30",
            "ephemeral-storage": "716800Mi",
        },
    }  # fmt: skip


def test_instances_of_cpu_nodes_avoid_nodes_with_gpus() -> None:
    required = _pod(_one(**_CPU))["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": GPU_COUNT_LABEL, "operator": "DoesNotExist"}]}
    ]
    assert "affinity" not in _pod(_one())["spec"]


def test_density_is_an_extended_resource_under_kai_and_a_spread_constraint_elsewhere() -> None:
    kai = _pod(_one())
    assert kai["spec"]["containers"][0]["resources"]["requests"]["apportion.dev/app-3-max-4"] == "1"
    assert "topologySpreadConstraints" not in kai["spec"]
    plain = _pod(_one(), workload_labels=PLAIN_WORKLOAD_LABELS)
    assert "apportion.dev/app-3-max-4" not in plain["spec"]["containers"][0]["resources"]["requests"]
    assert plain["metadata"]["labels"] == {DENSITY_LABEL: "app-3-max-4"}
    assert plain["spec"]["topologySpreadConstraints"] == [
        {
            "maxSkew": 4, "minDomains": 2**31 - 1, "topologyKey": HOSTNAME_LABEL, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {DENSITY_LABEL: "app-3-max-4"}},
        }
    ]  # fmt: skip


def test_every_node_has_the_density_resources() -> None:
    """Those of pools, among the objects, and those that join later."""
    node = node_object(TraceNode("n", 1000, 1024))
    queue = {"kind": "Queue", "metadata": {"name": "q"}}
    pool = Pool("p", NodeShape({}, {"cpu": "1"}), 1, 1, 1)
    scenario = Scenario(pools=(pool,), objects=(node, queue), incidents=(Incident(5.0, "made", makes=(node,)),))
    jobs = in_order([_one(), _one(instance_sn="i", app_name="app_9", max_instance_per_node="2")])
    made = with_density_resources(scenario, jobs)
    amounts = {"apportion.dev/app-3-max-4": "4", "apportion.dev/app-9-max-2": "2"}
    assert made.pools[0].shape.allocatable == {"cpu": "1", **amounts}
    assert made.objects[0]["status"]["allocatable"] == {**node["status"]["allocatable"], **amounts}
    assert made.objects[1] == queue
    assert made.incidents[0].makes == (made.objects[0],)
    assert with_density_resources(scenario, [replace(job, density=None) for job in jobs]) == scenario
