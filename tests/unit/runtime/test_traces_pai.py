"""Conversion of the job list of PAI's simulator to workloads. The rows here are fictional."""

from __future__ import annotations

import pytest

from apportion_runtime.sim.traces.pai import PaiRules, read_pai
from apportion_runtime.sim.traces.records import JobEnd, Source, Trace, TraceError, TraceJob

_ROW = {
    "job_id": "17",
    "user": "u9",
    "gpu_type": "T4",
    "num_inst": "3",
    "num_gpu": "0.5",
    "num_cpu": "6.0",
    "submit_time": "400",
    "duration": "90.0",
    "status": "Terminated",
    "user_dur": "12.5",
}


def _row(**changed: str) -> str:
    return ",".join({**_ROW, **changed}.values())


def _read(*rows: str, rules: PaiRules | None = None, heading: str = ",".join(_ROW)) -> Trace:
    return read_pai(Source("jobs.csv", "\n".join([heading, *rows, ""])), rules)


def _one(rules: PaiRules | None = None, **changed: str) -> TraceJob:
    trace = _read(_row(**changed), rules=rules)
    assert [skip.text for skip in trace.skips] == []
    return trace.jobs[0]


def test_job_is_a_gang_of_its_instances() -> None:
    trace = _read(_row())
    assert trace.jobs == (
        TraceJob(
            "job-17", "jobs.csv", 2, "training", "train", 6000, 0, 1, 500, n_pods=3, arrives_s=400.0, stays_s=90.0
        ),
    )
    assert (trace.n_rows, trace.nodes, trace.start) == (1, (), None)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"num_gpu": ""}, (0, 1000)),
        ({"num_gpu": "0.0"}, (0, 1000)),
        ({"num_gpu": "8"}, (8, 1000)),
        ({"num_gpu": "0.30000000000000004"}, (1, 300)),
        ({"num_gpu": "1.33"}, (2, 665)),
        ({"num_gpu": "2.5"}, (3, 834)),
    ],
)
def test_gpus_are_divided_among_devices(changed: dict[str, str], expected: tuple[int, int]) -> None:
    """PAI's simulator rounds to percents; more than one device that is not whole is divided equally, rounded up."""
    job = _one(**changed)
    assert (job.gpus, job.gpu_milli) == expected


def test_missing_amounts_have_the_defaults_of_the_simulator() -> None:
    job = _one(num_inst="", num_cpu="", num_gpu="", duration="0")
    assert (job.n_pods, job.cpu_milli, job.gpus, job.stays_s) == (1, 0, 0, 1.0)


@pytest.mark.parametrize(
    ("status", "end"),
    [("", JobEnd.SUCCEEDED), ("Failed", JobEnd.FAILED), ("Running", JobEnd.STOPPED), ("Waiting", JobEnd.NEVER_RAN)],
)
def test_status_decides_the_end(status: str, end: JobEnd) -> None:
    assert _one(status=status).end is end


def test_optional_columns_may_be_missing() -> None:
    trace = _read("a,u,1,1,1,0,5", heading="job_id,user,num_inst,num_gpu,num_cpu,submit_time,duration")
    assert trace.jobs[0] == TraceJob("a", "jobs.csv", 2, "training", "train", 1000, 0, 1, arrives_s=0.0, stays_s=5.0)
    assert trace.warnings == ()


def test_gpu_types_accept_any_device_unless_they_are_mapped() -> None:
    rows = (_row(), _row(job_id="2", gpu_type="V100"), _row(job_id="3", gpu_type="CPU", num_gpu=""))
    assert _read(*rows).warnings == (
        "jobs with GPU types T4 and V100 accept any GPU; to restrict them, map each type to one of the nodes' GPU models",
    )
    rules = PaiRules(models={"T4": ("Tesla-T4",), "V100": ("V100-32G", "V100-16G")})
    trace = _read(*rows, rules=rules)
    assert trace.warnings == ()
    assert [job.gpu_models for job in trace.jobs] == [("Tesla-T4",), ("V100-16G", "V100-32G"), ()]


def test_rules_map_users() -> None:
    rules = PaiRules(queues={"u9": "vision"}, priorities={"u9": "build"}, queue="rest", priority="inference")
    found = _read(_row(), _row(job_id="2", user="u1"), rules=rules).jobs
    assert [(job.queue, job.priority) for job in found] == [("vision", "build"), ("rest", "inference")]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"status": "Lost"}, "`Lost` is not a job status; use one of Terminated, Failed, Running, Waiting"),
        ({"submit_time": ""}, "submit_time is missing; set it to the job's submission time in seconds"),
        ({"duration": ""}, "duration is missing; set it to the job's runtime in seconds"),
        ({"duration": "-3"}, "duration `-3` is not a non-negative number of seconds; correct duration in this row"),
        ({"num_inst": "0"}, "num_inst 0 is not between 1 and 100000; correct num_inst in this row"),
        ({"num_cpu": "nan"}, "num_cpu `nan` is not a non-negative number; correct num_cpu in this row"),
        ({"job_id": ""}, "`` is not a valid name; use letters and digits"),
    ],
)
def test_invalid_row_is_reported(changed: dict[str, str], said: str) -> None:
    trace = _read(_row(**changed), _row(job_id="18"))
    assert [job.name for job in trace.jobs] == ["job-18"]
    assert [skip.text for skip in trace.skips] == [f"jobs.csv:2: {said}"]


def test_job_listed_twice_is_reported() -> None:
    assert [skip.text for skip in _read(_row(), _row()).skips] == [
        "jobs.csv:3: `job-17` is listed twice; give every row a unique name"
    ]


def test_other_tables_of_the_trace_are_refused() -> None:
    with pytest.raises(
        TraceError, match=r"jobs\.csv:1: missing column job_id, .*; use a job list from cluster-trace-gpu-v2020/sim"
    ):
        _read(heading="job_name,inst_id,user,status,start_time,end_time")
