"""Microsoft's Philly trace: `cluster_job_log`, a JSON array of jobs with their attempts.

Fields: README.md of msr-fiddle/philly-traces at 29a1b87f; the paper is Jeon et al., "Analysis of Large-Scale Multi-Tenant
GPU Clusters for DNN Training Workloads", USENIX ATC 2019. docs/traces.md has the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.traces.json_items import array_items, read_items
from apportion_runtime.sim.traces.records import JobEnd, SkippedRow, Source, Trace, TraceJob
from apportion_runtime.sim.traces.rows import BadRow, check_new, kubernetes_name
from apportion_runtime.sim.traces.timestamps import since_first_arrival, timestamp_of

_CURE = "use the unmodified cluster_job_log of the Philly trace"
_ENDS: Mapping[str, JobEnd] = {"Pass": JobEnd.SUCCEEDED, "Failed": JobEnd.FAILED, "Killed": JobEnd.STOPPED}


@dataclass(frozen=True, slots=True)
class PhillyRules:
    """The settings that the trace lacks.

    Attributes:
        queues: The queue by virtual cluster; otherwise, the virtual cluster as a valid Kubernetes name.
        priorities: The priority class by virtual cluster.
        priority: The class of every other virtual cluster.
    """

    queues: Mapping[str, str] = field(default_factory=dict)
    priorities: Mapping[str, str] = field(default_factory=dict)
    priority: str = "train"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One run of a job: seconds since 1970, and its devices on each machine."""

    start_s: float | None
    end_s: float | None
    gpus: tuple[int, ...]


def read_philly(log: Source, rules: PhillyRules | None = None) -> Trace:
    """Return the jobs of a log, which has no nodes, CPU and memory.

    Raises:
        TraceError: If it has a different format.
    """
    rules = PhillyRules() if rules is None else rules
    jobs: dict[str, TraceJob] = {}
    skips: list[SkippedRow] = []
    n_unknown, n_resized = 0, 0

    def take(line: int, item: Mapping[str, Any]) -> None:
        nonlocal n_unknown, n_resized
        attempts = _attempts(item)
        made = _job(log.file, line, item, attempts, rules)
        check_new(made.name, jobs)
        jobs[made.name] = made
        n_unknown += sum(_lasts_s(attempt) is None for attempt in attempts) - (made.end is JobEnd.OPEN)

        n_resized += len({sum(attempt.gpus) for attempt in attempts if attempt.gpus}) > 1

    n_rows = read_items(log.file, array_items(log, _CURE), take, skips)
    shifted, begin = since_first_arrival(tuple(jobs.values()))
    return Trace("philly", (), shifted, tuple(skips), n_rows, begin, tuple(_warnings(n_unknown, n_resized)))


def _warnings(n_unknown: int, n_resized: int) -> Iterator[str]:
    if n_unknown:
        yield f"{counted(n_unknown, 'attempt has', 'attempts have')} no start or end time; the simulation assumes a runtime of 0"
    if n_resized:
        jobs = counted(n_resized, "job has", "jobs have")
        yield f"{jobs} attempts with different numbers of GPUs; the simulation uses the GPUs of the first attempt"


def _job(file: str, line: int, item: Mapping[str, Any], attempts: Sequence[_Attempt], rules: PhillyRules) -> TraceJob:
    status, cluster = _text(item, "status"), _text(item, "vc")
    end = _ENDS.get(status)
    if end is None:
        raise BadRow(f"`{status}` is not a job status", f"use one of {', '.join(_ENDS)}")
    submitted = timestamp_of("submitted_time", _text(item, "submitted_time"))
    if submitted is None:
        raise BadRow("submitted_time is missing", _CURE)
    ran = [attempt for attempt in attempts if attempt.start_s is not None and attempt.gpus]
    if not ran:
        raise BadRow("the job has no attempt with a start time and GPUs, so its size is unknown")
    is_open = attempts[-1].start_s is not None and attempts[-1].end_s is None
    n_pods, gpus = _pods(ran[0].gpus)
    queue = rules.queues.get(cluster)
    return TraceJob(
        name=kubernetes_name(_text(item, "jobid")),
        file=file,
        line=line,
        queue=kubernetes_name(cluster) if queue is None else queue,
        priority=rules.priorities.get(cluster, rules.priority),
        cpu_milli=0,
        memory_mib=0,
        gpus=gpus,
        n_pods=n_pods,
        arrives_s=submitted,
        stays_s=None if is_open else sum(_lasts_s(attempt) or 0.0 for attempt in attempts),
        end=JobEnd.OPEN if is_open else end,
    )


def _lasts_s(attempt: _Attempt) -> float | None:
    return None if attempt.start_s is None or attempt.end_s is None else attempt.end_s - attempt.start_s


def _pods(gpus: Sequence[int]) -> tuple[int, int]:
    """Return a pod for each machine, or for each device if machines have different numbers of devices."""
    return (len(gpus), gpus[0]) if len(set(gpus)) == 1 else (sum(gpus), 1)


def _attempts(item: Mapping[str, Any]) -> list[_Attempt]:
    made: list[_Attempt] = []
    for attempt in _list(item, "attempts"):
        if not isinstance(attempt, Mapping):
            raise BadRow("`attempts` contains an item that is not a JSON object", _CURE)
        start_s, end_s = (timestamp_of(name, _text(attempt, name)) for name in ("start_time", "end_time"))
        if start_s is not None and end_s is not None and end_s < start_s:
            raise BadRow("the end_time of an attempt is before its start_time", "correct the times of the attempt")
        made.append(_Attempt(start_s, end_s, tuple(filter(None, map(_n_gpus, _list(attempt, "detail"))))))
    return made


def _n_gpus(machine: object) -> int:
    if not isinstance(machine, Mapping):
        raise BadRow("`detail` contains an item that is not a JSON object", _CURE)
    return len(_list(machine, "gpus"))


def _list(item: Mapping[str, Any], name: str) -> list[Any]:
    found = item.get(name)
    if not isinstance(found, list):
        raise BadRow(f"{name} is not a list", _CURE)
    return found


def _text(item: Mapping[str, Any], name: str) -> str:
    found = item.get(name)
    if found is not None and not isinstance(found, str):
        raise BadRow(f"{name} is not a string", _CURE)
    return found or ""
