"""The job list of the simulator that Alibaba published with its cluster-trace-gpu-v2020.

Columns and defaults: README.md and utils.py:_add_job of alibaba/clusterdata, cluster-trace-gpu-v2020/simulator, at
7a6c496e; the paper of the trace is Weng et al., "MLaaS in the Wild", NSDI 2022. docs/traces.md has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_runtime.sim.traces.csv_rows import MISFIT, csv_rows
from apportion_runtime.sim.traces.gpu_types import unmapped_types
from apportion_runtime.sim.traces.records import JobEnd, SkippedRow, Source, Trace, TraceJob, in_order
from apportion_runtime.sim.traces.rows import MOST_AT_ONCE, BadRow, Row, Table, check_new, kubernetes_name, read_each

COLUMNS = ("job_id", "user", "num_inst", "num_gpu", "num_cpu", "submit_time", "duration")
"""The required columns; `gpu_type` and `status` are optional, and others do not affect the simulation."""
_TABLE = Table(COLUMNS, "use a job list from cluster-trace-gpu-v2020/simulator, including its header")
_NO_TYPE = ("", "CPU")
_PERCENT, _MILLI = 100, 1000

_ENDS: Mapping[str, JobEnd] = {
    "": JobEnd.SUCCEEDED,
    "Terminated": JobEnd.SUCCEEDED,
    "Failed": JobEnd.FAILED,
    "Running": JobEnd.STOPPED,
    "Waiting": JobEnd.NEVER_RAN,
}


@dataclass(frozen=True, slots=True)
class PaiRules:
    """The settings that the list lacks.

    Attributes:
        queues: The queue by user.
        queue: The queue of every other user.
        priorities: The priority class by user.
        priority: The class of every other user.
        models: The GPU models in node labels by GPU type; other types accept any device, as in PAI's simulator.
    """

    queues: Mapping[str, str] = field(default_factory=dict)
    queue: str = "training"
    priorities: Mapping[str, str] = field(default_factory=dict)
    priority: str = "train"
    models: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_pai(jobs: Source, rules: PaiRules | None = None) -> Trace:
    """Return the jobs of a list, which has no nodes and no memory.

    Raises:
        TraceError: If it has a different format.
    """
    rules = PaiRules() if rules is None else rules
    made: dict[str, TraceJob] = {}
    skips: list[SkippedRow] = []
    types: set[str] = set()

    def take(row: Row) -> None:
        job = _job(row, rules)
        check_new(job.name, made)
        made[job.name] = job
        if job.gpus:
            types.add(_gpu_type(row))

    n_rows = read_each(csv_rows(jobs, _TABLE), take, skips, MISFIT)
    warnings = unmapped_types(types, rules.models)
    return Trace("pai", (), in_order(list(made.values())), tuple(skips), n_rows, warnings=warnings)


def _job(row: Row, rules: PaiRules) -> TraceJob:
    user, status = row.text("user"), row.text("status")
    end = _ENDS.get(status)
    if end is None:
        raise BadRow(f"`{status}` is not a job status", f"use one of {', '.join(filter(None, _ENDS))}")
    submitted = row.seconds("submit_time")
    if submitted is None:
        raise BadRow("submit_time is missing", "set it to the job's submission time in seconds")
    duration = row.seconds("duration")
    if duration is None:
        raise BadRow("duration is missing", "set it to the job's runtime in seconds")
    gpus, gpu_milli = _gpus(row)
    return TraceJob(
        name=kubernetes_name(f"job-{row.text('job_id')}" if row.text("job_id").isdigit() else row.text("job_id")),
        file=row.file,
        line=row.line,
        queue=rules.queues.get(user, rules.queue),
        priority=rules.priorities.get(user, rules.priority),
        cpu_milli=_percent(row, "num_cpu") * (_MILLI // _PERCENT),
        memory_mib=0,
        gpus=gpus,
        gpu_milli=gpu_milli,
        gpu_models=tuple(sorted(rules.models.get(_gpu_type(row), ()))) if gpus else (),
        n_pods=_instances(row),
        arrives_s=submitted,
        # The simulator of the trace runs such jobs for a second, too.
        stays_s=max(1.0, float(int(duration))),
        end=end,
    )


def _gpu_type(row: Row) -> str:
    found = row.text("gpu_type")
    return "" if found in _NO_TYPE else found


def _instances(row: Row) -> int:
    if not row.text("num_inst"):
        return 1
    n_instances = round(row.number("num_inst"))
    if not 0 < n_instances <= MOST_AT_ONCE:
        raise BadRow(f"num_inst {n_instances} is not between 1 and {MOST_AT_ONCE}", "correct num_inst in this row")
    return n_instances


def _percent(row: Row, column: str) -> int:
    return round(row.number(column) * _PERCENT) if row.text(column) else 0


def _gpus(row: Row) -> tuple[int, int]:
    """Return the devices of each instance, and the thousandths of each: more than one device is divided equally."""
    percent = _percent(row, "num_gpu")
    if not percent:
        return 0, _MILLI
    gpus = math.ceil(percent / _PERCENT)
    return gpus, math.ceil(percent * (_MILLI // _PERCENT) / gpus)
