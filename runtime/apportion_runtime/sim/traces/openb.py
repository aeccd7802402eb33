"""The openb trace: a list of nodes and a list of pods as CSV.

Columns: README of alibaba/clusterdata, cluster-trace-gpu-v2023; its paper is Weng et al., "Beware of Fragmentation:
Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023. docs/traces.md has the rules.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_runtime.sim.traces.csv_rows import MISFIT, csv_rows
from apportion_runtime.sim.traces.records import (
    JobEnd,
    SkippedRow,
    Source,
    Trace,
    TraceJob,
    TraceNode,
    in_order,
)
from apportion_runtime.sim.traces.rows import BadRow, Row, Table, check_new, kubernetes_name, read_each

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
REQUEST_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
RECORD_COLUMNS = ("gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time")
"""A list of requests alone, such as `openb_pod_list_multigpu50.csv`, has none of them."""
_QOS_OF_REQUESTS = "BE"
_CURE = "use the unmodified files of cluster-trace-gpu-v2023, with their header"
_DEVICE = 1000

_ENDS: Mapping[str, JobEnd] = {
    "Running": JobEnd.STOPPED,
    "Pending": JobEnd.STOPPED,
    "Unknown": JobEnd.STOPPED,
    "Succeeded": JobEnd.SUCCEEDED,
    "Failed": JobEnd.FAILED,
}
"""Results by phase, for placed pods; others never ran, regardless of the phase."""


@dataclass(frozen=True, slots=True)
class OpenbRules:
    """The settings that the trace lacks.

    Attributes:
        priorities: The priority class by QoS.
        queues: The queues by QoS; of several, a pod's name deterministically selects one.
    """

    priorities: Mapping[str, str] = field(
        default_factory=lambda: {
            "LS": "inference", "Guaranteed": "build", "Burstable": "build-preemptible", "BE": "train",
        }
    )  # fmt: skip
    queues: Mapping[str, Sequence[str]] = field(
        default_factory=lambda: {
            "LS": ("serving",), "Guaranteed": ("development",), "Burstable": ("development",), "BE": ("training",),
        }
    )  # fmt: skip


def read_openb(nodes: Source, pods: Source, rules: OpenbRules | None = None) -> Trace:
    """Return the trace of two lists.

    The pods of a list without times arrive one second apart and never end.

    Raises:
        TraceError: If a list has a different format.
    """
    rules = OpenbRules() if rules is None else rules
    machines: dict[str, TraceNode] = {}
    jobs: dict[str, TraceJob] = {}
    skips: list[SkippedRow] = []

    def take_node(row: Row) -> None:
        made = _node(row)
        check_new(made.name, machines)
        machines[made.name] = made

    def take_pod(row: Row) -> None:
        made = _job(row, rules, len(jobs))
        check_new(made.name, jobs)
        jobs[made.name] = made

    n_rows = read_each(csv_rows(nodes, Table(NODE_COLUMNS, _CURE)), take_node, skips, MISFIT)
    n_rows += read_each(csv_rows(pods, Table(REQUEST_COLUMNS, _CURE, RECORD_COLUMNS)), take_pod, skips, MISFIT)
    return Trace("openb", tuple(machines.values()), in_order(list(jobs.values())), tuple(skips), n_rows)


def _node(row: Row) -> TraceNode:
    gpus, model = row.integer("gpu"), row.text("model")
    if (gpus > 0) != bool(model):
        described = f"model `{model}`" if model else "no model"
        raise BadRow(f"gpu is {gpus}, but the node has {described}", "set the model if and only if the node has GPUs")
    return TraceNode(kubernetes_name(row.text("sn")), row.integer("cpu_milli"), row.integer("memory_mib"), gpus, model)


def _job(row: Row, rules: OpenbRules, number: int) -> TraceJob:
    name = kubernetes_name(row.text("name"))
    is_record = row.has("qos")
    qos = row.text("qos") if is_record else _QOS_OF_REQUESTS
    priority, queues = rules.priorities.get(qos), rules.queues.get(qos)
    if priority is None or not queues:
        known = ", ".join(sorted(qos for qos in rules.priorities if rules.queues.get(qos)))
        raise BadRow(f"the rules do not define QoS `{qos}`", f"add it to the rules, or use one of {known}")
    gpus, gpu_milli = _gpus(row)
    arrives_s, stays_s, end = _life(row) if is_record else (float(number), None, JobEnd.OPEN)
    return TraceJob(
        name=name,
        file=row.file,
        line=row.line,
        queue=queues[zlib.crc32(name.encode()) % len(queues)],
        priority=priority,
        cpu_milli=row.integer("cpu_milli"),
        memory_mib=row.integer("memory_mib"),
        gpus=gpus,
        gpu_milli=gpu_milli,
        gpu_models=tuple(sorted({model for model in row.text("gpu_spec").split("|") if model})) if gpus else (),
        arrives_s=arrives_s,
        stays_s=stays_s,
        end=end,
    )


def _gpus(row: Row) -> tuple[int, int]:
    """Return the number of devices, and the requested thousandths of each."""
    gpus = row.integer("num_gpu")
    if gpus == 0:
        return 0, _DEVICE
    each = row.integer("gpu_milli")
    if not 0 < each <= _DEVICE:
        raise BadRow(f"gpu_milli {each} is not a fraction of a device", "use 1 to 1000, in thousandths of each device")
    return gpus, each


def _life(row: Row) -> tuple[float, float | None, JobEnd]:
    """Return the arrival of a pod, how long it works or waits, and its end."""
    phase = row.text("pod_phase")
    end = _ENDS.get(phase)
    if end is None:
        raise BadRow(f"`{phase}` is not a pod phase", f"use one of {', '.join(_ENDS)}")
    created, scheduled, deleted = (row.seconds(f"{what}_time") for what in ("creation", "scheduled", "deletion"))
    if created is None:
        raise BadRow("creation_time is missing", "set it to the pod's creation time in seconds")
    began = created if scheduled is None else scheduled
    if began < created or (deleted is not None and deleted < began):
        raise BadRow(
            "creation_time, scheduled_time and deletion_time are not in ascending order",
            "correct the times in this row",
        )
    if deleted is None:
        return created, None, JobEnd.OPEN
    return created, deleted - began, JobEnd.NEVER_RAN if scheduled is None else end
