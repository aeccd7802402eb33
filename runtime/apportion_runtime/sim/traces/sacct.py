"""Slurm's accounting as `sacct -P` (or `-p`) lists it. Source: sacct(1) at Slurm 25.11; docs/traces.md has the rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apportion_runtime.sim.traces.records import JobEnd, SkippedRow, Source, Trace, TraceJob
from apportion_runtime.sim.traces.rows import MOST_AT_ONCE, BadRow, Row, Table, kubernetes_name, read_each, rows_of
from apportion_runtime.sim.traces.timestamps import NO_TIME, parse_timestamp, since_first_arrival
from apportion_runtime.sim.traces.tres import shape_of

FORMAT = "JobID,Account,QOS,State,Submit,Eligible,Start,End,Elapsed,Timelimit,AllocTRES,ReqTRES"
"""Columns to list. QOS, Eligible and Timelimit are optional; the others are required."""
_TABLE = Table(
    ("JobID", "Account", "State", "Submit", "Start", "End", "Elapsed", "AllocTRES", "ReqTRES"),
    f"run sacct -P -X --format={FORMAT}",
)
_MISFIT = "omit free-text columns such as JobName, or use another --delimiter"

_ENDS: Mapping[str, JobEnd] = {
    **dict.fromkeys(("COMPLETED",), JobEnd.SUCCEEDED),
    **dict.fromkeys(("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"), JobEnd.FAILED),
    **dict.fromkeys(("CANCELLED", "PREEMPTED", "REQUEUED"), JobEnd.STOPPED),
    **dict.fromkeys(
        (
            "PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT",
            "STOPPED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT",
        ),
        JobEnd.OPEN,
    ),
}  # fmt: skip
_REVOKED = "REVOKED"

_JOB = re.compile(r"(\d{1,18})(?:_(\d{1,18})|\+(\d{1,18})|_\[(.+)\])?", re.ASCII)
_TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)
_SPAN = re.compile(r"(?:(?:(\d{1,9})-)?(\d{1,9}):)?(\d{1,9}):(\d{1,9})(?:\.\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class SlurmRules:
    """The settings that the accounting lacks.

    Attributes:
        queues: The queue by account; otherwise, the account as a valid Kubernetes name.
        priorities: The priority class by QOS.
        priority: The class of every other QOS.
        models: The GPU models in node labels by Slurm's GPU type; other types accept any device.
        shares_per_gpu: The number of `shard` or `mps` units per device.
    """

    queues: Mapping[str, str] = field(default_factory=dict)
    priorities: Mapping[str, str] = field(default_factory=dict)
    priority: str = "train"
    models: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shares_per_gpu: Mapping[str, int] = field(default_factory=dict)


def read_sacct(listing: Source, rules: SlurmRules | None = None, *, delimiter: str = "|") -> Trace:
    """Return the jobs of a listing, which has no nodes.

    Raises:
        TraceError: If it has a different format.
    """
    rules = SlurmRules() if rules is None else rules
    jobs: list[TraceJob] = []
    skips: list[SkippedRow] = []
    seen: set[tuple[str, str]] = set()
    runs: Counter[str] = Counter()

    def take(row: Row) -> None:
        ids = _ids(row)
        submit = row.text("Submit")
        again = [made for made in ids if (made, submit) in seen]
        if again:
            raise BadRow(f"job {row.text('JobID')}, submitted at {submit}, is listed twice", "keep one row per job")
        like = _job(row, rules)
        for made in ids:
            seen.add((made, submit))
            runs[made] += 1
            jobs.append(replace(like, name=made if runs[made] == 1 else f"{made}-run{runs[made]}"))

    n_rows = read_each(rows_of(listing.file, _lines(listing, delimiter), _TABLE), take, skips, _MISFIT)
    shifted, begin = since_first_arrival(jobs)
    return Trace("slurm", (), shifted, tuple(skips), n_rows, begin)


def _lines(listing: Source, delimiter: str) -> Iterator[tuple[int, Sequence[str]]]:
    # Fields are never quoted, so a quote is an ordinary character.
    texts = listing.text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    # With -p, the last field is also followed by a delimiter.
    cut = len(delimiter) if texts[0].endswith(delimiter) else 0
    for number, text in enumerate(texts, start=1):
        if text.strip():
            yield number, (text[:-cut] if cut and text.endswith(delimiter) else text).split(delimiter)


def _ids(row: Row) -> list[str]:
    """Return the names of the jobs of a row: several if pending array tasks are listed together."""
    text = row.text("JobID")
    if "." in text.replace("...", ""):
        raise BadRow(f"{text} is a job step; the job has its own row")
    match = _JOB.fullmatch(text)
    if match is None:
        raise BadRow(f"`{text}` is not a job ID", "use sacct's format, such as 12, 12_3 or 12+1")
    job, task, part, tasks = match.groups()
    if tasks is not None:
        return [f"job-{job}-{number}" for number in _tasks(text, tasks)]
    return [f"job-{job}-{task}" if task else f"job-{job}-part{part}" if part else f"job-{job}"]


def _tasks(job: str, text: str) -> list[int]:
    found: dict[int, None] = {}
    cure = "run sacct with --array, which prints one row per task"
    for part in text.partition("%")[0].split(","):
        match = _TASKS.fullmatch(part)
        if match is None:
            raise BadRow(f"the tasks of `{job}` cannot be determined", cure)
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1 or (last - first) // step + len(found) >= MOST_AT_ONCE:
            raise BadRow(f"the number of tasks in `{job}` is not between 1 and {MOST_AT_ONCE}", cure)
        found.update(dict.fromkeys(range(first, last + 1, step)))
    return list(found)


def _job(row: Row, rules: SlurmRules) -> TraceJob:
    arrives_s, stays_s, end = _life(row)
    resources = row.text("AllocTRES") or row.text("ReqTRES")
    if not resources:
        raise BadRow("AllocTRES and ReqTRES are both empty", _TABLE.cure)
    shape = shape_of(resources, rules.shares_per_gpu)
    account = row.text("Account")
    queue = rules.queues.get(account)
    if queue is None and not account:
        raise BadRow("Account is empty", "add a rule that maps the empty account to a queue")
    return TraceJob(
        name="",
        file=row.file,
        line=row.line,
        queue=kubernetes_name(account) if queue is None else queue,
        priority=rules.priorities.get(row.text("QOS"), rules.priority),
        cpu_milli=shape.cpu_milli,
        memory_mib=shape.memory_mib,
        gpus=shape.gpus,
        gpu_milli=shape.gpu_milli,
        gpu_models=tuple(rules.models.get(shape.model, ())),
        n_pods=shape.n_pods,
        arrives_s=arrives_s,
        stays_s=stays_s,
        end=end,
    )


def _life(row: Row) -> tuple[float, float | None, JobEnd]:
    """Return when a job arrives (seconds since 1970), how long it works or waits, and how it ends."""
    state = (row.text("State").split() or [""])[0].rstrip("+")
    if state == _REVOKED:
        raise BadRow("the job ran on another cluster in the federation")
    end = _ENDS.get(state)
    if end is None:
        raise BadRow(f"`{state}` is not a job state", "use a state that sacct reports, such as COMPLETED")
    submit, start, ended = (_moment(row, column) for column in ("Submit", "Start", "End"))
    if submit is None:
        raise BadRow("Submit is empty", _TABLE.cure)
    elapsed = _span(row, "Elapsed") or 0.0
    eligible = _moment(row, "Eligible")
    arrives_s = submit if eligible is None else max(submit, eligible)
    if end is JobEnd.OPEN:
        return arrives_s, _span(row, "Timelimit"), end
    if elapsed or (start is not None and end is not JobEnd.STOPPED and state != "DEADLINE"):
        return arrives_s, elapsed, end
    if ended is None:
        raise BadRow(f"State is {state}, but End is empty", _TABLE.cure)
    if ended < submit:
        raise BadRow("End is before Submit", "correct Submit and End in this row")
    # A job with dependencies may be cancelled before it becomes eligible.
    arrives_s = min(arrives_s, ended)
    return arrives_s, ended - arrives_s, JobEnd.NEVER_RAN


def _moment(row: Row, column: str) -> float | None:
    """Return a timestamp as UTC; Slurm's output has no time zone."""
    text = row.text(column)
    if text.lower() in NO_TIME:
        return None
    try:
        if text.isascii() and text.isdigit():
            return float(int(text)) if len(text) <= 12 else _no_time(column, text)
        return parse_timestamp(text)
    except ValueError:
        return _no_time(column, text)


def _no_time(column: str, text: str) -> float:
    raise BadRow(f"{column} `{text}` is not a time such as 2026-11-21T08:00:00", "run sacct without SLURM_TIME_FORMAT")


def _span(row: Row, column: str) -> float | None:
    """Return a duration in seconds; None if it is missing or unlimited."""
    text = row.text(column)
    if text.lower() in NO_TIME or text.lower() in ("unlimited", "partition_limit"):
        return None
    match = _SPAN.fullmatch(text)
    if match is None:
        raise BadRow(f"{column} `{text}` is not a duration such as 1-02:03:04", f"correct {column} in this row")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
