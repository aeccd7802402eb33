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
    """It was there when the record ended."""


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A machine. `memory_mib` is its main memory; `gpu_model` is empty without GPUs."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    gpu_model: str = ""


@dataclass(frozen=True, slots=True)
class TraceJob:
    """Pods that are alike and start together.

    Attributes:
        name: A name that Kubernetes takes, unique in the trace.
        file: Where the row stands,
        line: and its first line, from 1. Several jobs may come of one row.
        queue: The queue by the reader's rule.
        priority: The priority class by the reader's rule.
        cpu_milli: Of each pod, like what follows.
        memory_mib: Main memory.
        gpus: Devices.
        gpu_milli: Thousandths of each of these devices.
        gpu_models: Models that will do; empty is any.
        n_pods: How many there are.
        arrives_s: Seconds from the beginning of the trace.
        stays_s: How long it works, or waits if it never ran; None is for ever.
        end: How it ended.
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

    @property
    def all_gpu_milli(self) -> int:
        """Thousandths of devices of all pods together."""
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
        """One sentence for people."""
        message = f"{self.file}:{self.line}: {self.reason}"
        return f"{message}; {self.cure}" if self.cure else message


@dataclass(frozen=True, slots=True)
class Trace:
    """What was recorded.

    Attributes:
        name: What it is called; the namespace of its jobs.
        nodes: Machines in the order of their rows; none where the format has none.
        jobs: Jobs by arrival, at one moment in the order of their rows.
        skips: Every other row.
        n_rows: Rows that were read, of all files: those of `nodes`, of `jobs` and of `skips` together.
        start: The moment of its beginning in seconds since 1970; None where it says none.
    """

    name: str
    nodes: tuple[TraceNode, ...]
    jobs: tuple[TraceJob, ...]
    skips: tuple[SkippedRow, ...] = ()
    n_rows: int = 0
    start: float | None = None

    @property
    def faults(self) -> tuple[SkippedRow, ...]:
        """Rows with which something is wrong."""
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
    """Return jobs by arrival; those of one moment stay in their order."""
    return tuple(sorted(jobs, key=lambda job: job.arrives_s))
