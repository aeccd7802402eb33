"""Why pods are evicted: the beneficiary, the rule, and the usage of the queues before and after.

Entry point: `evictions(session)`, in the order in which they were decided. Queues are compared at the first level
from the root at which their ancestors differ. Pods moved by consolidation are evicted too, and pipelined on another
node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_runtime.core.explain.amounts import quantity
from apportion_runtime.core.explain.eviction_messages import eviction_message
from apportion_runtime.core.job import Job
from apportion_runtime.core.plugins.reclaim_rules import siblings
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import CPU, GPU, MEMORY, Quantities, accounted, exceeds
from apportion_runtime.core.session import Session
from apportion_runtime.core.statement import EvictionSet
from apportion_runtime.core.status import PIPELINED
from apportion_runtime.core.task import NO_NODE, Task

OVER_FAIR_SHARE, OVER_QUOTA, MOVED, LOWER_PRIORITY, STALE, ALLOWED = (
    "over-fair-share", "over-quota", "moved", "lower-priority", "stale-gang", "allowed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """A queue's numbers: cpu (millicores), memory (bytes), gpu (devices); -1 is unlimited."""

    queue: str
    quota: Quantities
    fair: Quantities
    before: Quantities
    after: Quantities

    @property
    def lines(self) -> Iterator[str]:
        """A line for GPUs, and for every other resource that changed."""
        for r in (GPU, CPU, MEMORY):
            if self.before[r] != self.after[r]:
                yield (
                    f"queue {self.queue}: {quantity(self.before[r], r)} before, {quantity(self.after[r], r)} after"
                    f" (quota {quantity(self.quota[r], r)}, fair share {quantity(self.fair[r], r)})"
                )


@dataclass(frozen=True, slots=True)
class Eviction:
    """An eviction.

    Attributes:
        pod: The victim's id.
        name: Its name with namespace.
        job: Its job's name.
        queue: Its queue.
        node: Its node.
        action: The action that evicted it.
        for_job: The beneficiary with namespace; None for stale gangs.
        for_queue: That job's queue.
        rule: Which rule allowed it, one of the constants above.
        because: The explanation of the rule, with numbers.
        message: The message of the engine's event.
        moved_to: The node on which it is pipelined.
        victim: The victim's side where both meet, and
        beneficiary: the other; both None inside one queue.
    """

    pod: str
    name: str
    job: str
    queue: str
    node: str
    action: str
    for_job: str | None
    for_queue: str | None
    rule: str
    because: str
    message: str
    moved_to: str | None = None
    victim: Side | None = None
    beneficiary: Side | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation as text."""
        asked = f" for job {self.for_job} in queue {self.for_queue}" if self.for_job else ""
        head = f"pod {self.name} (job {self.job}, queue {self.queue}) on {self.node}: {self.action}{asked}"
        sides = [line for side in (self.victim, self.beneficiary) if side is not None for line in side.lines]
        moved = [f"will be rescheduled on {self.moved_to}"] if self.moved_to else []
        return (head, *(f"  {line}" for line in (self.because, *moved, *sides)))


def evictions(session: Session) -> Iterator[Eviction]:
    """Yield the evictions that a cycle decided, with their reasons."""
    eviction_sets = {uid: taking for taking in session.decided.eviction_sets for uid in taking.evicted}
    for task, node, why in session.decided.evictions:
        action, by = why if isinstance(why, tuple) else (str(why), None)
        job, beneficiary = session.jobs[task.job], session.jobs.get(by or "")
        rule, because = _rule(session, action, task, beneficiary, eviction_sets.get(task.uid))
        victim, other = _sides(session, job, beneficiary, eviction_sets.get(task.uid))
        yield Eviction(
            task.uid, f"{task.pod.namespace}/{task.pod.name}", job.name, job.queue, (session.nodes.names[node] if node != NO_NODE else task.pod.node or ""), action,
            None if beneficiary is None else f"{beneficiary.group.namespace}/{beneficiary.name}",
            None if beneficiary is None else beneficiary.queue, rule, because,
            eviction_message(session, action, task, beneficiary, eviction_sets.get(task.uid)),
            _moved_to(session, task), victim, other,
        )  # fmt: skip


def _moved_to(session: Session, task: Task) -> str | None:
    return session.nodes.names[task.node] if task.status == PIPELINED else None


def _rule(session: Session, action: str, task: Task, by: Job | None, taking: EvictionSet | None) -> tuple[str, str]:
    job = session.jobs[task.job]
    if by is None or taking is None:
        return STALE, _stale(session, task, job)
    if action == "preempt":
        return (
            LOWER_PRIORITY,
            f"lower priority in the same queue ({job.priority} < {by.priority})",
        )
    if action == "reclaim":
        found = _over(session, job.queue, by, taking)
        if found is not None:
            return found
    if task.status == PIPELINED or action == "consolidation":
        return MOVED, "moved to make room on its node; its queue loses no resources"
    return ALLOWED, f"permitted by the {action} action"


def _stale(session: Session, task: Task, job: Job) -> str:
    pod_set = job.pod_sets[task.pod_set]
    pod_set_of_gang = (
        pod_set if pod_set.min_available > 1 else max(job.pod_sets.values(), key=lambda each: each.min_available)
    )
    part = f" in sub-group {pod_set_of_gang.name}" if len(job.pod_sets) > 1 else ""
    grace = job.group.staleness_grace if job.group.staleness_grace is not None else session.settings.staleness_grace
    return (
        f"its gang has had fewer than the required {pod_set_of_gang.min_available} pods{part} for more than {grace:g} s"
    )


def _over(session: Session, queue: str, by: Job, taking: EvictionSet) -> tuple[str, str] | None:
    """Return the reclaim rule that applied to a victim's queue before the evictions."""
    _, theirs = siblings(session.shares.queues, by.queue, queue)
    before = taking.before.get(theirs.name, accounted(theirs.allocated))
    for rule, bounds in ((OVER_FAIR_SHARE, theirs.allocatable), (OVER_QUOTA, theirs.deserved)):
        over = [r for r in (GPU, CPU, MEMORY) if exceeds(before[r], bounds[r])]
        if over:
            r = over[0]
            word = "quota" if bounds[r] == theirs.deserved[r] else "fair share"
            clause = f"uses {quantity(before[r], r)}, more than its {word} of {quantity(bounds[r], r)}"
            if rule == OVER_QUOTA:
                return (
                    rule,
                    f"queue {theirs.name} {clause}, and queue {_own(session, by, queue).name} is within its quota",
                )
            return rule, f"queue {theirs.name} {clause}"
    return None


def _own(session: Session, by: Job, queue: str) -> QueueShare:
    return siblings(session.shares.queues, by.queue, queue)[0]


def _sides(
    session: Session, job: Job, by: Job | None, taking: EvictionSet | None
) -> tuple[Side, Side] | tuple[None, None]:
    queues = session.shares.queues
    if by is None or taking is None or job.queue == by.queue or not {job.queue, by.queue} <= queues.keys():
        return None, None
    ours, theirs = siblings(queues, by.queue, job.queue)
    return _side(theirs, taking.before, taking.after), _side(ours, taking.before, taking.after)


def _side(queue: QueueShare, before: Mapping[str, Quantities], after: Mapping[str, Quantities]) -> Side:
    now = accounted(queue.allocated)
    return Side(
        queue.name,
        accounted(queue.deserved),
        accounted(queue.fair),
        before.get(queue.name, now),
        after.get(queue.name, now),
    )
