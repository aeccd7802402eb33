"""A trace in any format: machines, jobs in order of arrival, and skipped rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TraceError(ValueError):
    """An unreadable trace: one sentence with file, line and remedy."""

    def __init__(self, file: str, line: int, reason: str, cure: str) -> None:
        super().__init__(f"{file}:{line}: {reason}; {cure}")


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and its name in messages."""

    file: str
    text: str


class JobEnd(Enum):
    """The end of a job in the recording."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    """Stopped before completion, such as canceled, preempted or requeued."""
    NEVER_RAN = "never-ran"
    """Ended without having started."""
    OPEN = "open"
    """It still existed when the recording ended."""


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A machine.

    Attributes:
        name: A valid Kubernetes name, unique in the trace.
        cpu_milli: Allocatable thousandths of cores.
        memory_mib: Allocatable main memory.
        gpus: Allocatable devices.
        gpu_model: The model of its devices; empty without devices, or if it is among the labels.
        disk_mib: Allocatable local disk.
        extended: Extended resources with their integer amounts.
        n_pods: The maximum number of pods.
        labels: Its labels, with their values.
        taints: Key, value and effect of each of its taints.
        joins_s: When it joins, in seconds from the beginning of the trace; at 0, it is there from the start.
        leaves_s: When it leaves; None is never.
    """

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    gpu_model: str = ""
    disk_mib: int = 0
    extended: tuple[tuple[str, int], ...] = ()
    n_pods: int = 110
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[tuple[str, str, str], ...] = ()
    joins_s: float = 0.0
    leaves_s: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a pod that differ from its requests; 0 is the request."""

    cpu_milli: int = 0
    memory_mib: int = 0
    disk_mib: int = 0


@dataclass(frozen=True, slots=True)
class Density:
    """At most `n_per_node` pods of the group on a node; the name of the group is a valid Kubernetes name."""

    group: str
    n_per_node: int


@dataclass(frozen=True, slots=True)
class TraceJob:
    """Equivalent pods that start together.

    Attributes:
        name: A valid Kubernetes name, unique in the trace.
        file: The file of the row.
        line: The first line of the row, from 1. One row may give several jobs.
        queue: The queue by the reader's rule.
        priority: The priority class by the reader's rule.
        cpu_milli: Per pod, as are the following amounts.
        memory_mib: Main memory.
        gpus: Devices.
        gpu_milli: Thousandths of each of these devices.
        gpu_models: The accepted models; empty is any.
        n_pods: The number of pods.
        arrives_s: Seconds from the beginning of the trace.
        stays_s: How long it works, or waits if it never ran; None is forever.
        end: How it ended.
        disk_mib: Local disk.
        extended: Extended resources with their integer amounts.
        limits: The limits of cpu, memory and local disk.
        density: The maximum number of such pods on a node; None is unlimited.
        avoids_gpus: Whether it only runs on nodes without GPUs.
        node_selector: Labels that its nodes have, with their values.
        tolerations: The fields of each toleration, with their values.
    """

    name: str
    file: str
    line: int
    queue: str
    priority: str
    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    gpu_milli: int = 1000
    gpu_models: tuple[str, ...] = ()
    n_pods: int = 1
    arrives_s: float = 0.0
    stays_s: float | None = None
    end: JobEnd = JobEnd.SUCCEEDED
    disk_mib: int = 0
    extended: tuple[tuple[str, int], ...] = ()
    limits: Limits = Limits()
    density: Density | None = None
    avoids_gpus: bool = False
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[tuple[tuple[str, str], ...], ...] = ()

    @property
    def all_gpu_milli(self) -> int:
        """Thousandths of the devices of all pods together."""
        return self.n_pods * self.gpus * self.gpu_milli


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that is neither a node nor a job. `cure` is empty if the row is valid."""

    file: str
    line: int
    reason: str
    cure: str = ""

    @property
    def text(self) -> str:
        """The reason as one sentence."""
        message = f"{self.file}:{self.line}: {self.reason}"
        return f"{message}; {self.cure}" if self.cure else message


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded load.

    Attributes:
        name: The name of the trace, which is the namespace of its jobs.
        nodes: Machines in the order of their rows; none if the format has none.
        jobs: Jobs by arrival, ties in the order of their rows.
        skips: Every other row.
        n_rows: Rows that were read, of all files: those of `nodes`, of `jobs` and of `skips` together.
        start: Its start time in seconds since 1970; None if unknown.
        warnings: What the simulation does differently from the recording, one clause each.
    """

    name: str
    nodes: tuple[TraceNode, ...]
    jobs: tuple[TraceJob, ...]
    skips: tuple[SkippedRow, ...] = ()
    n_rows: int = 0
    start: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[SkippedRow, ...]:
        """The invalid rows."""
        return tuple(skip for skip in self.skips if skip.cure)

    @property
    def gpu_milli(self) -> int:
        """Thousandths of the devices of all nodes."""
        return sum(node.gpus for node in self.nodes) * 1000

    @property
    def queues(self) -> tuple[str, ...]:
        """Queues that jobs name, sorted."""
        return tuple(sorted({job.queue for job in self.jobs}))


def in_order(jobs: list[TraceJob]) -> tuple[TraceJob, ...]:
    """Return jobs by arrival; ties keep their order."""
    return tuple(sorted(jobs, key=lambda job: job.arrives_s))
