"""Conversion of sacct's output to workloads, with every row accounted for. The rows here are fictional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from apportion_runtime.sim.traces.records import JobEnd, Source, Trace, TraceError, TraceJob
from apportion_runtime.sim.traces.sacct import FORMAT, SlurmRules, read_sacct
from apportion_runtime.sim.traces.scenario import scenario_of

HEADING = FORMAT.replace(",", "|")
_ROW = {
    "JobID": "7",
    "Account": "vision",
    "QOS": "normal",
    "State": "COMPLETED",
    "Submit": "2026-11-02T08:00:00",
    "Eligible": "2026-11-02T08:00:00",
    "Start": "2026-11-02T08:05:00",
    "End": "2026-11-02T08:15:00",
    "Elapsed": "00:10:00",
    "Timelimit": "1-00:00:00",
    "AllocTRES": "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1",
    "ReqTRES": "billing=8,cpu=8,gres/gpu=2,mem=64G,node=1",
}
_WAITED = {"Start": "None", "Elapsed": "00:00:00", "AllocTRES": ""}
_NOON = 1793620800.0 - 4 * 3600
"""2026-11-02T08:00:00 in UTC."""


def _row(**changed: str) -> str:
    return "|".join({**_ROW, **changed}.values())


def _read(*rows: str, rules: SlurmRules | None = None, heading: str = HEADING) -> Trace:
    return read_sacct(Source("jobs.txt", "\n".join([heading, *rows, ""])), rules)


def _one(rules: SlurmRules | None = None, **changed: str) -> TraceJob:
    trace = _read(_row(**changed), rules=rules)
    assert [skip.text for skip in trace.skips] == []
    return trace.jobs[0]


def test_job_is_read() -> None:
    trace = _read(_row())
    assert trace.jobs == (
        TraceJob(
            "job-7", "jobs.txt", 2, "vision", "train", 8000, 65_536, 2, 1000, (), 1, 0.0, 600.0, JobEnd.SUCCEEDED
        ),
    )  # fmt: skip
    assert (trace.start, trace.n_rows, trace.nodes) == (_NOON, 1, ())


@pytest.mark.parametrize(
    ("changed", "life"),
    [
        ({}, (600.0, JobEnd.SUCCEEDED)),
        ({"Elapsed": "1-02:03:04"}, (93_784.0, JobEnd.SUCCEEDED)),
        ({"Elapsed": "03:04"}, (184.0, JobEnd.SUCCEEDED)),
        ({"State": "FAILED"}, (600.0, JobEnd.FAILED)),
        ({"State": "TIMEOUT"}, (600.0, JobEnd.FAILED)),
        ({"State": "OUT_OF_MEMORY"}, (600.0, JobEnd.FAILED)),
        ({"State": "NODE_FAIL"}, (600.0, JobEnd.FAILED)),
        ({"State": "PREEMPTED"}, (600.0, JobEnd.STOPPED)),
        ({"State": "CANCELLED by 1000"}, (600.0, JobEnd.STOPPED)),
        ({"State": "CANCELLED+"}, (600.0, JobEnd.STOPPED)),
        ({"State": "CANCELLED by 1000", **_WAITED}, (900.0, JobEnd.NEVER_RAN)),
        ({"State": "CANCELLED", **_WAITED, "Start": "2026-11-02T08:15:00"}, (900.0, JobEnd.NEVER_RAN)),
        ({"State": "FAILED", "Elapsed": "00:00:00"}, (0.0, JobEnd.FAILED)),
        ({"State": "DEADLINE", **_WAITED}, (900.0, JobEnd.NEVER_RAN)),
        ({"State": "RUNNING", "End": "Unknown"}, (86_400.0, JobEnd.OPEN)),
        ({"State": "PENDING", **_WAITED, "Start": "Unknown", "End": "Unknown"}, (86_400.0, JobEnd.OPEN)),
        ({"State": "RUNNING", "End": "Unknown", "Timelimit": "UNLIMITED"}, (None, JobEnd.OPEN)),
        ({"State": "PENDING", **_WAITED, "Timelimit": "Partition_Limit"}, (None, JobEnd.OPEN)),
    ],
)
def test_state_determines_lifetime_and_end(changed: Mapping[str, str], life: tuple[float | None, JobEnd]) -> None:
    job = _one(**changed)
    assert (job.stays_s, job.end) == life


@pytest.mark.parametrize(
    ("tres", "pods"),
    [
        ("cpu=8,gres/gpu=2,mem=64G,node=1", (1, 8000, 65_536, 2, 1000)),
        ("cpu=8,gres/gpu:a100=2,mem=64G,node=1", (1, 8000, 65_536, 2, 1000)),
        ("billing=1K,cpu=16,energy=3,gres/gpu=8,mem=1000M,node=2", (2, 8000, 500, 4, 1000)),
        ("cpu=10,gres/gpu=5,mem=1T,node=2", (5, 2000, 209_716, 1, 1000)),
        ("cpu=3,mem=1.50G,node=2", (2, 1500, 768, 0, 1000)),
        ("cpu=1,mem=512K", (1, 1000, 1, 0, 1000)),
        ("cpu=2,gres/shard=1,node=1", (1, 2000, 0, 1, 250)),
        ("cpu=2,gres/shard=6,node=1", (1, 2000, 0, 2, 750)),
        ("cpu=2,gres/mps=25,node=1", (1, 2000, 0, 1, 250)),
        ("cpu=2,gres/mps=100,node=2", (2, 1000, 0, 1, 500)),
    ],
)
def test_resources_are_divided_into_equal_pods(tres: str, pods: tuple[int, ...]) -> None:
    job = _one(SlurmRules(shares_per_gpu={"shard": 4, "mps": 100}), AllocTRES=tres)
    assert (job.n_pods, job.cpu_milli, job.memory_mib, job.gpus, job.gpu_milli) == pods


def test_requested_resources_are_the_fallback() -> None:
    job = _one(State="CANCELLED by 1", **_WAITED, ReqTRES="cpu=4,gres/gpu=1,mem=8G,node=1")
    assert (job.cpu_milli, job.gpus) == (4000, 1)


def test_arrival_is_the_eligible_time() -> None:
    trace = _read(_row(), _row(JobID="8", Eligible="2026-11-02T08:03:00"))
    assert [job.arrives_s for job in trace.jobs] == [0.0, 180.0]


def test_job_cancelled_before_eligible_leaves_at_once() -> None:
    job = _one(State="CANCELLED", **_WAITED, Eligible="2026-11-02T09:00:00")
    assert (job.stays_s, job.end) == (0.0, JobEnd.NEVER_RAN)


def test_rules_map_queues_classes_and_models() -> None:
    rules = SlurmRules(
        queues={"vision": "research/vision"}, priorities={"interactive": "build"}, models={"a100": ("A100-80", "A100")}
    )
    job = _one(rules, QOS="interactive")
    assert (job.queue, job.priority, job.gpu_models) == ("research/vision", "build", ("A100-80", "A100"))


def test_account_becomes_a_kubernetes_name() -> None:
    assert _one(Account="Vision_Lab").queue == "vision-lab"


@pytest.mark.parametrize(
    ("job", "names"),
    [
        ("7_3", ["job-7-3"]),
        ("7+1", ["job-7-part1"]),
        ("7_[1-3]", ["job-7-1", "job-7-2", "job-7-3"]),
        ("7_[1,4-8:2%2]", ["job-7-1", "job-7-4", "job-7-6", "job-7-8"]),
        ("7_[1-2,2-3]", ["job-7-1", "job-7-2", "job-7-3"]),
    ],
)
def test_array_tasks_are_separate_jobs(job: str, names: list[str]) -> None:
    trace = _read(_row(JobID=job))
    assert [made.name for made in trace.jobs] == names
    assert {made.line for made in trace.jobs} == {2}


def test_requeued_runs_are_separate_jobs() -> None:
    trace = _read(_row(State="PREEMPTED"), _row(Submit="2026-11-02T08:16:00", Eligible=""))
    assert [(job.name, job.arrives_s) for job in trace.jobs] == [("job-7", 0.0), ("job-7-run2", 960.0)]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"JobID": "7.batch"}, "7.batch is a job step; the job has its own row"),
        ({"JobID": "7_3.0"}, "7_3.0 is a job step; the job has its own row"),
        ({"State": "REVOKED"}, "the job ran on another cluster in the federation"),
    ],
)
def test_non_job_rows_are_reported_without_fault(changed: Mapping[str, str], told: str) -> None:
    trace = _read(_row(JobID="6"), _row(**changed))
    assert ([skip.text for skip in trace.skips], trace.faults) == ([f"jobs.txt:3: {told}"], ())
    assert (trace.n_rows, len(trace.jobs)) == (2, 1)


_AS_LISTED = f"run sacct -P -X --format={FORMAT}"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"JobID": "seven"}, "`seven` is not a job ID; use sacct's format, such as 12, 12_3 or 12+1"),
        ({"JobID": "7_[1,3,...]"}, ("the tasks of `7_[1,3,...]` cannot be determined; "
         "run sacct with --array, which prints one row per task")),
        ({"JobID": "7_[0-999999999]"}, ("the number of tasks in `7_[0-999999999]` is not between 1 and 100000; "
         "run sacct with --array, which prints one row per task")),
        ({"JobID": "6"}, "job 6, submitted at 2026-11-02T08:00:00, is listed twice; keep one row per job"),
        ({"State": "DONE"}, "`DONE` is not a job state; use a state that sacct reports, such as COMPLETED"),
        ({"State": ""}, "`` is not a job state; use a state that sacct reports, such as COMPLETED"),
        ({"Submit": "Unknown"}, f"Submit is empty; {_AS_LISTED}"),
        ({"Submit": "Mon 12:34:56"}, ("Submit `Mon 12:34:56` is not a time such as 2026-11-21T08:00:00; "
         "run sacct without SLURM_TIME_FORMAT")),
        ({"Elapsed": "10m"}, "Elapsed `10m` is not a duration such as 1-02:03:04; correct Elapsed in this row"),
        ({"State": "CANCELLED", **_WAITED, "End": "Unknown"}, "State is CANCELLED, but End is empty; "
         + _AS_LISTED),
        ({"State": "CANCELLED", **_WAITED, "End": "2026-11-01T00:00:00"}, ("End is before Submit; "
         "correct Submit and End in this row")),
        ({"AllocTRES": "", "ReqTRES": ""}, f"AllocTRES and ReqTRES are both empty; {_AS_LISTED}"),
        ({"AllocTRES": "mem=4G,node=1"}, ("`mem=4G,node=1` has no cpu entry; "
         "run sacct with --noconvert, and with columns wide enough for AllocTRES and ReqTRES")),
        ({"AllocTRES": "cpu=1.5K"}, ("cpu `1.5K` is not an integer; "
         "run sacct with --noconvert, and with columns wide enough for AllocTRES and ReqTRES")),
        ({"AllocTRES": "cpu=1,mem=4X"}, ("mem `4X` is not an amount of memory; "
         "run sacct with --noconvert, and with columns wide enough for AllocTRES and ReqTRES")),
        ({"AllocTRES": "cpu=8,gres/gp"}, ("`cpu=8,gres/gp` is not a list of resources such as "
         "cpu=8,gres/gpu=2,mem=64G,node=1; run sacct with --noconvert, and with columns wide enough for AllocTRES and ReqTRES")),
        ({"AllocTRES": "cpu=8,gres/gpu:a100=1,gres/gpu:v100=1,gres/gpu=2"}, ("the job has 2 types of GPU: a100 and v100; "
         "use one row per type")),
        ({"AllocTRES": "cpu=8,gres/shard=1"}, ("the rules do not define how many gres/shard equal one GPU; add the number to the rules")),
        ({"AllocTRES": "cpu=8,node=999999999"}, ("`cpu=8,node=999999999` requests 999999999 nodes; "
         "correct the value; the maximum is 100000")),
        ({"Account": ""}, "Account is empty; add a rule that maps the empty account to a queue"),
    ],
)  # fmt: skip
def test_invalid_row_is_reported_and_skipped(changed: Mapping[str, str], told: str) -> None:
    trace = _read(_row(JobID="6"), _row(**changed))
    assert [skip.text for skip in trace.faults] == [f"jobs.txt:3: {told}"]
    assert (trace.n_rows, len(trace.jobs), len(trace.skips)) == (2, 1, 1)


def test_delimiter_within_a_field_is_reported() -> None:
    trace = _read(_row(), _row(JobID="8") + "|x")
    assert [skip.text for skip in trace.faults] == [
        (
            "jobs.txt:3: the row has 13 fields, but the header has 12; "
            "omit free-text columns such as JobName, or use another --delimiter"
        )
    ]


@pytest.mark.parametrize("change", ["", "|"])
def test_parsable_and_parsable2_are_read(change: str) -> None:
    trace = _read(_row() + change, heading=HEADING + change)
    assert (trace.n_rows, [job.name for job in trace.jobs]) == (1, ["job-7"])


def test_custom_delimiter_is_read() -> None:
    listing = Source("jobs.txt", f"{HEADING}\n{_row(JobID='9')}\n".replace("|", "~~"))
    assert [job.name for job in read_sacct(listing, delimiter="~~").jobs] == ["job-9"]


@pytest.mark.parametrize("text", ["", _row(), HEADING.replace("AllocTRES", "ReqGRES")])
def test_invalid_listing_is_refused(text: str) -> None:
    with pytest.raises(TraceError, match=r"^jobs\.txt:1: missing column .*; run sacct -P -X --format=JobID,"):
        read_sacct(Source("jobs.txt", text))


def test_multi_node_job_is_a_gang() -> None:
    scenario = scenario_of(_read(_row(AllocTRES="cpu=16,gres/gpu=16,mem=8G,node=2")))
    made: Any = scenario.works[0].manifest
    assert (made["metadata"]["namespace"], made["spec"]["parallelism"]) == ("slurm", 2)
    assert made["metadata"]["annotations"] == {
        "kai.scheduler/batch-min-member": "2",
        "apportion.dev/trace-row": "jobs.txt:2",
    }
    assert scenario.start == _NOON
