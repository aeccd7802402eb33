"""The reasons why a job is pending, one record type for each; `text` is a sentence.

Amounts are in vector units: millicores, bytes, devices.
"""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.core.capacity import OVER_LIMIT
from apportion_runtime.core.explain.amounts import quantity
from apportion_runtime.core.explain.histogram import NodeHistogram
from apportion_runtime.core.queue_parents import cycle_cure, cycle_text
from apportion_runtime.core.reasons import duration
from apportion_runtime.core.shares import RESOURCES


@dataclass(frozen=True, slots=True)
class UnusableQueue:
    """The job's queue cannot run jobs.

    Attributes:
        queue: The queue.
        missing: The queue that does not exist: the job's, or the parent of `broken`; None otherwise.
        broken: The queue or the ancestor of it whose parent is wrong; None if its path to the root is complete.
        cycle: The queues whose parents form a cycle, each before its parent; empty if there is none.
        children: The child queues of the queue.
    """

    queue: str
    missing: str | None
    broken: str | None = None
    cycle: tuple[str, ...] = ()
    children: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        if not self.queue:
            return "the job does not name a queue"
        if self.broken is None:
            if self.missing is None:
                return f"queue {self.queue} has child queues; only leaf queues run jobs"
            return f"queue {self.queue} does not exist"
        if self.cycle == (self.queue,):
            return f"queue {self.queue} is ignored: it is its own parent"
        if len(self.cycle) == 1:
            return f"queue {self.queue} is ignored: its ancestor {self.broken} is its own parent"
        if self.cycle:
            whose = "its parents" if self.queue in self.cycle else f"the parents of its ancestor {self.broken}"
            return f"queue {self.queue} is ignored: {whose} form a cycle ({cycle_text(self.cycle)})"
        if self.broken == self.queue:
            return f"queue {self.queue} is ignored: its parent {self.missing} does not exist"
        return (
            f"queue {self.queue} is ignored: {self.missing}, the parent of its ancestor {self.broken}, does not exist"
        )

    @property
    def cure(self) -> str:
        """What to do, as an imperative clause."""
        if not self.queue:
            return "set the queue of the workload"
        if self.cycle:
            return cycle_cure(self.cycle)
        if self.broken is not None:
            return f"create queue {self.missing}, or change `parentQueue` of queue {self.broken}"
        if self.missing is not None:
            return "create it, or use an existing queue"
        return f"use one of its child queues: {_names(self.children)}" if self.children else "use a leaf queue"


@dataclass(frozen=True, slots=True)
class IncompleteGang:
    """A sub-group of the job has too few schedulable pods."""

    part: str
    n_ready: int
    n_gated: int
    n_needed: int

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        part = f"sub-group {self.part}" if self.part not in ("", "default") else "the job"
        gated = f" ({self.n_gated} gated)" if self.n_gated else ""
        return f"{part} requires {_count(self.n_needed, 'pod')} to start but has {self.n_ready}{gated}"


@dataclass(frozen=True, slots=True)
class UndefinedSubGroup:
    """Pods refer to a sub-group that the pod group does not define."""

    part: str
    n_pods: int

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        verb = "belongs" if self.n_pods == 1 else "belong"
        return f"{_count(self.n_pods, 'pod')} {verb} to sub-group {self.part}, which the pod group does not define"


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A queue's limit, or its quota for non-preemptible jobs, would be exceeded; `reason` is the engine's reason."""

    reason: str
    queue: str
    resource: str
    bound: float
    used: float
    asked: float

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        r = RESOURCES.index(self.resource)
        bound, used, asked = (quantity(value, r) for value in (self.bound, self.used, self.asked))
        if self.reason == OVER_LIMIT:
            return f"queue {self.queue} would exceed its limit of {bound}: {used} in use, {asked} requested"
        return (
            f"non-preemptible jobs would exceed queue {self.queue}'s quota of {bound}: "
            f"{used} in use by these jobs, {asked} requested"
        )


@dataclass(frozen=True, slots=True)
class NoNode:
    """No node fits a pod; `n_placed` pods of its sub-group can be placed, `n_needed` are required in this step."""

    pod: str
    part: str
    n_placed: int
    n_needed: int
    nodes: NodeHistogram

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        part = f" of sub-group {self.part}" if self.part not in ("", "default") else ""
        gang = f" ({self.n_placed} of {self.n_needed} pods{part} can be placed)" if self.n_needed > 1 else ""
        return f"pod {self.pod} does not fit on any node{gang}: {self.nodes.text}"


@dataclass(frozen=True, slots=True)
class NoDomain:
    """No topology domain has enough resources for a sub-group of the job."""

    messages: tuple[str, ...]

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return "; ".join(self.messages)


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """No node can meet a pod's request, even after evictions; `message` is the engine's."""

    message: str

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return " ".join(self.message.split())


@dataclass(frozen=True, slots=True)
class OverFairShare:
    """The job may not reclaim from other queues: its queue would exceed its fair share, or its quota."""

    queue: str
    resource: str
    share: float
    used: float
    asked: float
    is_quota: bool

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        r = RESOURCES.index(self.resource)
        share, used, asked = (quantity(value, r) for value in (self.share, self.used, self.asked))
        kind = "quota for non-preemptible jobs" if self.is_quota else "fair share"
        more = asked.replace(" ", " more ", 1)
        return f"cannot reclaim from other queues: {self.queue} uses {used} and requests {more}; its {kind} is {share}"


@dataclass(frozen=True, slots=True)
class NoVictims:
    """No victims were found.

    Attributes:
        action: `reclaim` or `preempt`.
        within_share: Queues within their fair share.
        n_protected: Jobs within their minimum runtime.
        n_firm: Non-preemptible jobs.
        n_tried: Evictable jobs that do not free enough resources, or whose eviction would be unfair.
        queue: The queue of the job.
    """

    action: str
    queue: str
    within_share: tuple[str, ...]
    n_protected: int
    n_firm: int
    n_tried: int

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        if self.action == "reclaim":
            clause = "nothing to reclaim from other queues"
            whose = "its" if len(self.within_share) == 1 else "their"
            found = [f"{_names(self.within_share)} within {whose} fair share"] if self.within_share else []
        else:
            clause = f"nothing to preempt in queue {self.queue}"
            found = []
            if not self.n_tried and not self.n_protected:
                return f"{clause}: no lower-priority preemptible job is running"
        found += [f"{_count(self.n_protected, 'job')} still within the minimum runtime"] if self.n_protected else []
        found += [f"{_count(self.n_firm, 'non-preemptible job')}"] if self.n_firm else []
        found += [f"{_count(self.n_tried, 'job')} that would not free enough resources"] if self.n_tried else []
        return f"{clause}: {', '.join(found)}" if found else f"{clause}: no job is running in another queue"


@dataclass(frozen=True, slots=True)
class Delayed:
    """The job is within its preemption delay; both values in seconds."""

    delay: float
    left: float

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return f"its preemption delay of {duration(self.delay)} ends in {duration(self.left)}; until then, it cannot evict other jobs"


@dataclass(frozen=True, slots=True)
class Fragmented:
    """Enough GPUs are free in total, but fragmented; consolidation found no solution."""

    free: float
    asked: float

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        free, asked = quantity(self.free, 2), quantity(self.asked, 2)
        return f"consolidation found no solution: {asked} requested, {free} free in total but fragmented across nodes"


@dataclass(frozen=True, slots=True)
class WaitsForRelease:
    """Pods are pipelined on resources that are being released."""

    nodes: tuple[str, ...]
    n_pods: int

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        wait = "waits" if self.n_pods == 1 else "wait"
        return f"{_count(self.n_pods, 'pod')} {wait} for resources that are being released on {_names(self.nodes)}"


@dataclass(frozen=True, slots=True)
class FitsNow:
    """The job would fit now; `noted` is why it did not fit when it was tried."""

    noted: str

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        then = f"; the last attempt failed: {' '.join(self.noted.split())}" if self.noted else ""
        return f"the job fits now and is retried in the next cycle{then}"


PendingReason = (
    UnusableQueue | IncompleteGang | UndefinedSubGroup | OverLimit | NoNode | NoDomain | Unschedulable | OverFairShare | NoVictims
    | Delayed | Fragmented | WaitsForRelease | FitsNow
)  # fmt: skip

_MOST_NAMED = 4


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else shown


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
