"""The trace of GPU-disaggregated inference: one list of instances as CSV.

Columns: README of alibaba/clusterdata, cluster-trace-gpu-v2025; its paper is Yang et al., "GPU-Disaggregated Serving for
Deep Learning Recommendation Models at Scale", NSDI 2025. docs/traces.md has the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from apportion_api.counted_nouns import counted
from apportion_runtime.sim.traces.csv_rows import MISFIT, csv_rows
from apportion_runtime.sim.traces.records import Density, JobEnd, Limits, SkippedRow, Source, Trace, TraceJob, in_order
from apportion_runtime.sim.traces.rows import BadRow, Row, Table, check_new, kubernetes_name, read_each

RDMA_RESOURCE = "apportion.dev/rdma-percent"
"""Percent of the bandwidth of an RDMA card; a node has 100 for each card."""
CPU_NODE, GPU_NODE = "CN", "HN"
COLUMNS = (
    "instance_sn", "role", "app_name", "cpu_request", "cpu_limit", "gpu_request", "gpu_limit", "rdma_request",
    "rdma_limit", "memory_request", "memory_limit", "disk_request", "disk_limit", "max_instance_per_node",
    "creation_time", "scheduled_time", "deletion_time",
)  # fmt: skip
_TABLE = Table(COLUMNS, "use the unmodified file from cluster-trace-gpu-v2025, including its header")
_MIB_PER_GIB = 1024
_UNLIMITED = "-1"
_NO_TIME = ("", "nan")


@dataclass(frozen=True, slots=True)
class DlrmRules:
    """The settings that the trace lacks: the queue and the priority class by role."""

    queues: Mapping[str, str] = field(
        default_factory=lambda: {CPU_NODE: "serving-cpu", GPU_NODE: "serving-gpu"}
    )  # fmt: skip
    priorities: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys((CPU_NODE, GPU_NODE), "inference"))


def read_dlrm(instances: Source, rules: DlrmRules | None = None) -> Trace:
    """Return the instances of a list, which has no nodes.

    Raises:
        TraceError: If it has a different format.
    """
    rules = DlrmRules() if rules is None else rules
    jobs: dict[str, TraceJob] = {}
    skips: list[SkippedRow] = []
    limits: dict[tuple[str, str], set[str]] = {}

    def take(row: Row) -> None:
        made = _job(row, rules)
        check_new(made.name, jobs)
        jobs[made.name] = made
        limits.setdefault((row.text("app_name"), row.text("role")), set()).add(row.text("max_instance_per_node"))

    n_rows = read_each(csv_rows(instances, _TABLE), take, skips, MISFIT)
    return Trace(
        "dlrm", (), in_order(list(jobs.values())), tuple(skips), n_rows, warnings=_mixed_limits(limits)
    )  # fmt: skip


def _mixed_limits(limits: Mapping[tuple[str, str], set[str]]) -> tuple[str, ...]:
    n_mixed = sum(len(found) > 1 for found in limits.values())
    if not n_mixed:
        return ()
    apps = counted(n_mixed, "app has", "apps have")
    return (f"{apps} several values of max_instance_per_node for one role; each applies only to the rows that set it",)


def _job(row: Row, rules: DlrmRules) -> TraceJob:
    role = row.text("role")
    queue, priority = rules.queues.get(role), rules.priorities.get(role)
    if queue is None or priority is None:
        known = " or ".join(sorted(role for role in rules.queues if role in rules.priorities))
        raise BadRow(f"the rules do not define role `{role}`", f"add it to the rules, or use {known}")
    gpus, rdma = _integer_device(row, "gpu"), _integer_device(row, "rdma")
    if role == CPU_NODE and gpus:
        raise BadRow(
            f"an instance of role {CPU_NODE} requests {counted(gpus, 'GPU')}", f"use role {GPU_NODE}, or 0 GPUs"
        )
    cpu_milli, cpu_limit_milli = _amounts(row, "cpu", 1000)
    memory_mib, memory_limit_mib = _amounts(row, "memory", _MIB_PER_GIB)
    disk_mib, disk_limit_mib = _amounts(row, "disk", _MIB_PER_GIB)
    arrives_s, stays_s, end = _life(row)
    return TraceJob(
        name=kubernetes_name(row.text("instance_sn")),
        file=row.file,
        line=row.line,
        queue=queue,
        priority=priority,
        cpu_milli=cpu_milli,
        memory_mib=memory_mib,
        gpus=gpus,
        arrives_s=arrives_s,
        stays_s=stays_s,
        end=end,
        disk_mib=disk_mib,
        extended=((RDMA_RESOURCE, rdma),) if rdma else (),
        limits=Limits(cpu_limit_milli, memory_limit_mib, disk_limit_mib),
        density=_density(row),
        avoids_gpus=role == CPU_NODE,
    )


def _integer_device(row: Row, what: str) -> int:
    """Return a request for devices, which Kubernetes requires to equal its limit."""
    request, limit = row.integer(f"{what}_request"), row.integer(f"{what}_limit")
    if limit != request:
        raise BadRow(
            f"{what}_limit {limit} differs from {what}_request {request}",
            "use equal values, as Kubernetes requires for devices",
        )
    return request


def _amounts(row: Row, what: str, units: int) -> tuple[int, int]:
    """Return a request, and the limit, which is 0 if it equals the request."""
    request, limit = row.scaled(f"{what}_request", units), row.scaled(f"{what}_limit", units)
    if limit < request:
        raise BadRow(
            f"{what}_limit {row.text(f'{what}_limit')} is less than {what}_request {row.text(f'{what}_request')}",
            f"correct {what}_limit in this row",
        )
    return request, limit if limit != request else 0


def _density(row: Row) -> Density | None:
    text = row.text("max_instance_per_node")
    if text == _UNLIMITED:
        return None
    n_per_node = row.integer("max_instance_per_node")
    if not n_per_node:
        raise BadRow("max_instance_per_node is 0, so no node accepts the instance", "use -1 for no limit")
    return Density(kubernetes_name(row.text("app_name")), n_per_node)


def _life(row: Row) -> tuple[float, float | None, JobEnd]:
    """Return the arrival of an instance, how long it serves or waits, and its end."""
    created, scheduled, deleted = (_time(row, f"{what}_time") for what in ("creation", "scheduled", "deletion"))
    arrives_s = created or 0.0
    # An instance without a creation time existed before the start, and if it has no scheduled time either, it was running.
    never_ran = scheduled is None and created is not None
    begins_s = arrives_s if scheduled is None else scheduled
    if begins_s < arrives_s or (deleted is not None and deleted < begins_s):
        raise BadRow(
            "creation_time, scheduled_time and deletion_time are not in ascending order",
            "correct the times in this row",
        )
    if deleted is None:
        return arrives_s, None, JobEnd.OPEN
    return arrives_s, deleted - begins_s, JobEnd.NEVER_RAN if never_ran else JobEnd.STOPPED


def _time(row: Row, column: str) -> float | None:
    return None if row.text(column).lower() in _NO_TIME else row.seconds(column)
