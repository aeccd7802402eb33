"""SenseTime's Helios traces: `cluster_log.csv`, the jobs that Slurm ran on one of four clusters.

Columns: README.md of S-Lab-System-Group/HeliosData at 159f0cae; the paper is Hu et al., "Characterization and Prediction of
Deep Learning Workloads in Large-Scale GPU Datacenters", SC 2021. docs/traces.md has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from apportion_runtime.sim.traces.csv_rows import MISFIT, csv_rows
from apportion_runtime.sim.traces.records import JobEnd, SkippedRow, Source, Trace, TraceJob
from apportion_runtime.sim.traces.rows import MOST_AT_ONCE, BadRow, Row, Table, check_new, kubernetes_name, read_each
from apportion_runtime.sim.traces.timestamps import since_first_arrival, timestamp_of

COLUMNS = (
    "job_id", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "start_time", "end_time", "duration",
)  # fmt: skip
"""The required columns; `user` and `queue` do not affect the simulation."""
_TABLE = Table(COLUMNS, "use the unmodified cluster_log.csv of a Helios trace, including its header")
_ENDS: Mapping[str, JobEnd] = {
    "COMPLETED": JobEnd.SUCCEEDED,
    "FAILED": JobEnd.FAILED,
    "TIMEOUT": JobEnd.FAILED,
    "NODE_FAIL": JobEnd.FAILED,
    "CANCELLED": JobEnd.STOPPED,
    "SUSPENDED": JobEnd.STOPPED,
}


@dataclass(frozen=True, slots=True)
class HeliosRules:
    """The settings that the trace lacks.

    Attributes:
        queues: The queue by virtual cluster; otherwise, the virtual cluster as a valid Kubernetes name.
        priorities: The priority class by virtual cluster.
        priority: The class of every other virtual cluster.
    """

    queues: Mapping[str, str] = field(default_factory=dict)
    priorities: Mapping[str, str] = field(default_factory=dict)
    priority: str = "train"


def read_helios(log: Source, rules: HeliosRules | None = None) -> Trace:
    """Return the jobs of a log, which has no nodes and no memory.

    Raises:
        TraceError: If it has a different format.
    """
    rules = HeliosRules() if rules is None else rules
    jobs: dict[str, TraceJob] = {}
    skips: list[SkippedRow] = []

    def take(row: Row) -> None:
        made = _job(row, rules)
        check_new(made.name, jobs)
        jobs[made.name] = made

    n_rows = read_each(csv_rows(log, _TABLE), take, skips, MISFIT)
    shifted, begin = since_first_arrival(tuple(jobs.values()))
    return Trace("helios", (), shifted, tuple(skips), n_rows, begin)


def _job(row: Row, rules: HeliosRules) -> TraceJob:
    cluster = row.text("vc")
    queue = rules.queues.get(cluster)
    arrives_s, stays_s, end = _life(row)
    gpus, n_nodes = row.integer("gpu_num"), max(1, row.integer("node_num"))
    n_pods = n_nodes if gpus % n_nodes == 0 else gpus
    if n_pods > MOST_AT_ONCE:
        raise BadRow(f"the job has {n_pods} pods", f"correct node_num and gpu_num; the maximum is {MOST_AT_ONCE} pods")
    return TraceJob(
        name=f"job-{row.integer('job_id')}",
        file=row.file,
        line=row.line,
        queue=kubernetes_name(cluster) if queue is None else queue,
        priority=rules.priorities.get(cluster, rules.priority),
        cpu_milli=math.ceil(row.integer("cpu_num") * 1000 / n_pods),
        memory_mib=0,
        gpus=gpus // n_pods,
        n_pods=n_pods,
        arrives_s=arrives_s,
        stays_s=stays_s,
        end=end,
    )


def _life(row: Row) -> tuple[float, float, JobEnd]:
    """Return when a job arrives (seconds since 1970), how long it works or waits, and how it ends."""
    state = row.text("state")
    end = _ENDS.get(state)
    if end is None:
        raise BadRow(f"`{state}` is not a job state", f"use one of {', '.join(_ENDS)}")
    submit, start, ended = (timestamp_of(name, row.text(name)) for name in ("submit_time", "start_time", "end_time"))
    if submit is None:
        raise BadRow("submit_time is missing", "set it to the job's submission time")
    if start is not None:
        lasts_s = row.seconds("duration")
        if lasts_s is None:
            raise BadRow("duration is missing", "set it to the job's runtime in seconds")
        return submit, lasts_s, end
    if ended is None:
        raise BadRow("start_time and end_time are both missing", "set the job's end_time")
    if ended < submit:
        raise BadRow("end_time is before submit_time", "correct the times in this row")
    return submit, ended - submit, JobEnd.NEVER_RAN
