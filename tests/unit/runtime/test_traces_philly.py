"""Conversion of Philly's job log to workloads. The jobs here are fictional."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apportion_runtime.sim.traces.philly import PhillyRules, read_philly
from apportion_runtime.sim.traces.records import JobEnd, Source, Trace, TraceError, TraceJob


def _machine(n_gpus: int) -> dict[str, Any]:
    return {"ip": "m1", "gpus": [f"gpu{i}" for i in range(n_gpus)]}


def _attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, Any]:
    return {"start_time": start, "end_time": end, "detail": [_machine(n) for n in gpus]}


_JOB: dict[str, Any] = {
    "status": "Pass",
    "vc": "ab12CD",
    "jobid": "application_7_9",
    "attempts": [
        _attempt("2018-01-01 00:10:00", "2018-01-01 00:20:00", 8, 8),
        _attempt("2018-01-01 00:30:00", "2018-01-01 01:00:00", 8, 8),
    ],
    "submitted_time": "2018-01-01 00:00:00",
    "user": "u",
}
_START = 1_514_764_800.0
"""2018-01-01T00:00:00Z."""


def _read(*jobs: object, rules: PhillyRules | None = None) -> Trace:
    text = "[\n" + ",\n".join(json.dumps(job) for job in jobs) + "\n]\n"
    return read_philly(Source("log.json", text), rules)


def _one(**changed: Any) -> TraceJob:
    trace = _read({**_JOB, **changed})
    assert [skip.text for skip in trace.skips] == []
    return trace.jobs[0]


def test_job_runs_for_the_sum_of_its_attempts() -> None:
    trace = _read(_JOB)
    assert trace.jobs == (
        TraceJob("application-7-9", "log.json", 2, "ab12cd", "train", 0, 0, 8, n_pods=2, arrives_s=0.0, stays_s=2400.0),
    )
    assert (trace.start, trace.n_rows, trace.nodes, trace.warnings) == (_START, 1, (), ())


def test_jobs_arrive_since_the_first_one() -> None:
    later = {**_JOB, "jobid": "b", "submitted_time": "2018-01-01 00:00:30"}
    assert [(job.name, job.line, job.arrives_s) for job in _read(later, _JOB).jobs] == [
        ("application-7-9", 3, 0.0),
        ("b", 2, 30.0),
    ]


def test_machines_with_different_numbers_of_gpus_give_a_pod_for_each_gpu() -> None:
    job = _one(attempts=[_attempt("2018-01-01 00:10:00", "2018-01-01 00:20:00", 8, 2)])
    assert (job.n_pods, job.gpus) == (10, 1)


@pytest.mark.parametrize(
    ("status", "end"), [("Pass", JobEnd.SUCCEEDED), ("Killed", JobEnd.STOPPED), ("Failed", JobEnd.FAILED)]
)
def test_status_decides_the_end(status: str, end: JobEnd) -> None:
    assert _one(status=status).end is end


@pytest.mark.parametrize("missing", [None, "None", ""])
def test_job_whose_last_attempt_has_no_end_runs_until_the_end(missing: str | None) -> None:
    job = _one(attempts=[*_JOB["attempts"], _attempt("2018-01-01 02:00:00", missing, 8, 8)])
    assert (job.stays_s, job.end) == (None, JobEnd.OPEN)


def test_attempts_without_times_are_reported() -> None:
    """The logging errors that the trace's documentation mentions."""
    attempts = [_attempt(None, "2018-01-01 00:05:00", 8, 8), _attempt("2018-01-01 00:06:00", None, 8, 8)]
    trace = _read({**_JOB, "attempts": [*attempts, *_JOB["attempts"]]})
    assert trace.jobs[0].stays_s == 2400.0
    assert trace.warnings == ("2 attempts have no start or end time; the simulation assumes a runtime of 0",)


def test_attempts_of_different_sizes_are_reported() -> None:
    attempts = [_attempt("2018-01-01 00:01:00", "2018-01-01 00:02:00", 4), *_JOB["attempts"]]
    trace = _read({**_JOB, "attempts": attempts})
    assert (trace.jobs[0].n_pods, trace.jobs[0].gpus) == (1, 4)
    assert trace.warnings == (
        "1 job has attempts with different numbers of GPUs; the simulation uses the GPUs of the first attempt",
    )


@pytest.mark.parametrize("attempts", [[], [_attempt(None, None)], [_attempt(None, "2018-01-01 00:05:00", 8)]])
def test_job_that_never_started_is_skipped_and_valid(attempts: list[Any]) -> None:
    trace = _read({**_JOB, "attempts": attempts})
    assert trace.faults == ()
    assert [skip.text for skip in trace.skips] == [
        "log.json:2: the job has no attempt with a start time and GPUs, so its size is unknown"
    ]


_CURE = "use the unmodified cluster_job_log of the Philly trace"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"status": "Lost"}, "`Lost` is not a job status; use one of Pass, Failed, Killed"),
        ({"submitted_time": None}, f"submitted_time is missing; {_CURE}"),
        (
            {"submitted_time": "soon"},
            "submitted_time `soon` is not a time such as 2026-11-21 08:00:00; correct submitted_time",
        ),
        ({"vc": 7}, f"vc is not a string; {_CURE}"),
        ({"attempts": {}}, f"attempts is not a list; {_CURE}"),
        ({"attempts": ["x"]}, f"`attempts` contains an item that is not a JSON object; {_CURE}"),
        ({"attempts": [{"detail": [3]}]}, f"`detail` contains an item that is not a JSON object; {_CURE}"),
        (
            {"attempts": [_attempt("2018-01-01 00:02:00", "2018-01-01 00:01:00", 1)]},
            "the end_time of an attempt is before its start_time; correct the times of the attempt",
        ),
    ],
)
def test_invalid_job_is_reported(changed: dict[str, Any], said: str) -> None:
    trace = _read({**_JOB, **changed}, {**_JOB, "jobid": "other"})
    assert [job.name for job in trace.jobs] == ["other"]
    assert [skip.text for skip in trace.skips] == [f"log.json:2: {said}"]


def test_items_that_are_not_jobs_are_reported() -> None:
    assert [skip.text for skip in _read(3, _JOB, _JOB).skips] == [
        "log.json:2: the item is not a JSON object; correct or remove it",
        "log.json:4: `application-7-9` is listed twice; give every row a unique name",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"log\.json:1: the file is not a JSON array; use the unmodified"),
        ("{}", r"log\.json:1: the file is not a JSON array"),
        ("[\n{},\n{\n", r"log\.json:4: invalid JSON \("),
        ("[1 2]", r"log\.json:1: expected `,` or `\]` after an item of the JSON array"),
        ("[]\n\n[]", r"log\.json:3: unexpected data after the JSON array"),
        ("[" * 100_000, r"log\.json:1: the JSON is nested too deeply"),
        (f"[{'9' * 5000}]", r"log\.json:1: an integer in the JSON has too many digits"),
    ],
)
def test_other_files_are_refused(text: str, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        read_philly(Source("log.json", text))


def test_rules_map_virtual_clusters() -> None:
    rules = PhillyRules({"ab12CD": "vision"}, {"ab12CD": "build"}, "inference")
    found = _read(_JOB, {**_JOB, "jobid": "b", "vc": "x"}, rules=rules).jobs
    assert [(job.queue, job.priority) for job in found] == [("vision", "build"), ("x", "inference")]
