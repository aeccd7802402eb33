"""Conversion of a Helios job log to workloads. The rows here are fictional."""

from __future__ import annotations

import pytest

from apportion_runtime.sim.traces.helios import HeliosRules, read_helios
from apportion_runtime.sim.traces.records import JobEnd, Source, Trace, TraceError, TraceJob

_ROW = {
    "job_id": "31",
    "user": "uA",
    "vc": "vcXy",
    "gpu_num": "16",
    "cpu_num": "65",
    "node_num": "2",
    "state": "COMPLETED",
    "submit_time": "2018-01-01 00:00:00",
    "start_time": "2018-01-01 00:05:00",
    "end_time": "2018-01-01 00:15:00",
    "duration": "600",
    "queue": "300",
}


def _row(**changed: str) -> str:
    return ",".join({**_ROW, **changed}.values())


def _read(*rows: str, rules: HeliosRules | None = None) -> Trace:
    return read_helios(Source("log.csv", "\n".join([",".join(_ROW), *rows, ""])), rules)


def _one(**changed: str) -> TraceJob:
    trace = _read(_row(**changed))
    assert [skip.text for skip in trace.skips] == []
    return trace.jobs[0]


def test_job_is_a_gang_with_a_pod_on_each_node() -> None:
    trace = _read(_row())
    assert trace.jobs == (
        TraceJob("job-31", "log.csv", 2, "vcxy", "train", 32_500, 0, 8, n_pods=2, arrives_s=0.0, stays_s=600.0),
    )
    assert (trace.start, trace.n_rows, trace.nodes) == (1_514_764_800.0, 1, ())


def test_gpus_that_nodes_do_not_divide_give_a_pod_for_each() -> None:
    job = _one(gpu_num="3", cpu_num="4")
    assert (job.n_pods, job.gpus, job.cpu_milli) == (3, 1, 1334)


def test_job_without_gpus_has_a_pod_on_each_node() -> None:
    job = _one(gpu_num="0", node_num="0")
    assert (job.n_pods, job.gpus, job.cpu_milli) == (1, 0, 65_000)


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ("COMPLETED", JobEnd.SUCCEEDED),
        ("FAILED", JobEnd.FAILED),
        ("TIMEOUT", JobEnd.FAILED),
        ("NODE_FAIL", JobEnd.FAILED),
        ("CANCELLED", JobEnd.STOPPED),
        ("SUSPENDED", JobEnd.STOPPED),
    ],
)
def test_state_decides_the_end(state: str, end: JobEnd) -> None:
    assert _one(state=state).end is end


@pytest.mark.parametrize("missing", ["", "None"])
def test_job_without_a_start_never_ran(missing: str) -> None:
    job = _one(state="CANCELLED", start_time=missing, duration="0")
    assert (job.stays_s, job.end) == (900.0, JobEnd.NEVER_RAN)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"state": "DONE"}, "`DONE` is not a job state; use one of COMPLETED, FAILED, TIMEOUT, NODE_FAIL, CANCELLED, "),
        ({"submit_time": ""}, "submit_time is missing; set it to the job's submission time"),
        ({"submit_time": "9"}, "submit_time `9` is not a time such as 2026-11-21 08:00:00; correct submit_time"),
        ({"duration": ""}, "duration is missing; set it to the job's runtime in seconds"),
        ({"start_time": "", "end_time": ""}, "start_time and end_time are both missing; set the job's end_time"),
        ({"start_time": "", "end_time": "2017-01-01 00:00:00"}, "end_time is before submit_time; correct the times"),
        ({"gpu_num": "x"}, "gpu_num `x` is not a non-negative integer; correct gpu_num in this row"),
        ({"gpu_num": "0", "node_num": "200000"}, "the job has 200000 pods; correct node_num and gpu_num; the maximum"),
        ({"vc": "--"}, "`--` is not a valid name; use letters and digits"),
    ],
)
def test_invalid_row_is_reported(changed: dict[str, str], said: str) -> None:
    trace = _read(_row(**changed), _row(job_id="32"))
    assert [job.name for job in trace.jobs] == ["job-32"]
    assert len(trace.skips) == 1
    assert trace.skips[0].text.startswith(f"log.csv:2: {said}")


def test_job_listed_twice_is_reported() -> None:
    assert [skip.text for skip in _read(_row(), _row()).skips] == [
        "log.csv:3: `job-31` is listed twice; give every row a unique name"
    ]


def test_other_tables_of_the_trace_are_refused() -> None:
    with pytest.raises(TraceError, match=r"log\.csv:1: missing column job_id, .*; use the unmodified cluster_log\.csv"):
        read_helios(Source("log.csv", "date,vcA,total\n2018-01-01,8,8\n"))


def test_rules_map_virtual_clusters() -> None:
    rules = HeliosRules({"vcXy": "vision"}, {"vcXy": "build"}, "inference")
    found = _read(_row(), _row(job_id="2", vc="vcB"), rules=rules).jobs
    assert [(job.queue, job.priority) for job in found] == [("vision", "build"), ("vcb", "inference")]
