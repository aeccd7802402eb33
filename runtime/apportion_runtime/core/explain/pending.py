"""Why jobs are pending at the end of a cycle: the reasons of each, the first obstacle first.

Entry points: `pending_jobs(session)` for all, `why_pending(session, job)` for one. They use the session at the end of
the cycle; if a job would fit by then, the engine's earlier fit error is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from apportion_runtime.core.capacity import NON_PREEMPTIBLE_OVER_QUOTA, OVER_LIMIT, over_limit, over_quota, requested
from apportion_runtime.core.explain.attempt import Attempt, attempt
from apportion_runtime.core.explain.fit_errors import POD_SCHEDULING_ERRORS, detailed_text
from apportion_runtime.core.explain.pending_reasons import (
    Delayed,
    FitsNow,
    Fragmented,
    IncompleteGang,
    NoDomain,
    NoNode,
    NoVictims,
    OverFairShare,
    OverLimit,
    PendingReason,
    UndefinedSubGroup,
    Unschedulable,
    UnusableQueue,
    WaitsForRelease,
)
from apportion_runtime.core.job import Job
from apportion_runtime.core.plugins.min_runtime import may_be_preempted, may_be_reclaimed, reclaim_minimum
from apportion_runtime.core.plugins.reclaim_rules import can_reclaim, may_be_victim, reclaimer_of
from apportion_runtime.core.queue_parents import broken_path
from apportion_runtime.core.resources import Quantities, exceeds
from apportion_runtime.core.session import Session
from apportion_runtime.core.shares import RESOURCES
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.status import GATED, PENDING, PIPELINED
from apportion_runtime.core.task import NO_NODE


@dataclass(frozen=True, slots=True)
class PendingJob:
    """A job with pending pods.

    Attributes:
        job: Its id.
        name: Its name, with `namespace`.
        namespace: See name.
        queue: Its queue.
        n_pending: Pending pods, including pipelined ones.
        n_running: Placed pods.
        reasons: The reasons, the first obstacle first.
        noted: The engine's fit errors of the job; empty if there are none.
    """

    job: str
    name: str
    namespace: str
    queue: str
    n_pending: int
    n_running: int
    reasons: tuple[PendingReason, ...]
    noted: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation as text, one reason per line."""
        running = f", {self.n_running} placed" if self.n_running else ""
        head = f"job {self.namespace}/{self.name} in queue {self.queue}: {self.n_pending} pending{running}"
        return head, *(f"  {number}. {reason.text}" for number, reason in enumerate(self.reasons, start=1))


def pods_of_undefined_sub_groups(session: Session, job: Job) -> Sequence[Pod]:
    """Return the pods of a job that name a sub-group which its pod group does not define; they are no tasks of it."""
    if not any(uid not in job.tasks for uid in job.task_errors):
        return ()
    pods = session.snapshot.pods
    return [pod for pod in pods if pod.group == job.uid and pod.uid in job.task_errors and pod.uid not in job.tasks]


def pending_jobs(session: Session) -> Iterator[PendingJob]:
    """Yield every job with pending pods, in the snapshot's order."""
    running = cache(partial(_running_jobs, session))
    for job in session.jobs.values():
        if _waits(job):
            yield _why_pending(session, job, running)


def why_pending(session: Session, job: Job) -> PendingJob:
    """Return why a job is pending, without reasons if it is not."""
    return _why_pending(session, job, partial(_running_jobs, session))


_Running = Callable[[], Mapping[str, Sequence[Job]]]


def _running_jobs(session: Session) -> Mapping[str, Sequence[Job]]:
    """Return the running jobs by queue."""
    found: dict[str, list[Job]] = {}
    for job in session.jobs.values():
        if job.n_active_allocated and session.shares.holds_jobs_of(job.queue):
            found.setdefault(job.queue, []).append(job)
    return found


def _why_pending(session: Session, job: Job, running: _Running) -> PendingJob:
    n_pipelined = job.counts.get(PIPELINED, 0)
    return PendingJob(
        job.uid,
        job.name,
        job.group.namespace,
        job.queue,
        job.n_pending + job.counts.get(GATED, 0) + n_pipelined,
        job.n_active_allocated - n_pipelined,
        tuple(_reasons(session, job, running)) if _waits(job) else (),
        detailed_text(job.fit_errors).strip() if job.fit_errors else "",
    )


def _waits(job: Job) -> bool:
    counts = job.counts
    # Asked of every job in each cycle.
    if counts.get(PENDING) or counts.get(GATED) or counts.get(PIPELINED):
        return True
    return bool(job.task_errors) and any(uid not in job.tasks for uid in job.task_errors)


def _reasons(session: Session, job: Job, running: _Running) -> Iterator[PendingReason]:
    unusable = unusable_queue(session, job.queue)
    if unusable is not None:
        yield unusable
        return
    yield from _undefined_sub_groups(session, job)
    yield from _releases(session, job)
    if not job.root.is_ready:
        yield from _incomplete(job)
        return
    if not job.n_pending:
        return
    # The job still caches the pods of the last victim search, including pods evicted since.
    waiting = next(task for task in job.tasks.values() if task.status == PENDING)
    job.update_status(waiting, PENDING)
    tasks = job.tasks_to_allocate(real=True)
    if not tasks:
        return
    bounds = list(_bounds(session, job)) if session.keeps_shares else []
    yield from bounds
    predicates = session.predicates
    cause = next((why for task in tasks if (why := predicates.unresolvable(task) or predicates.blocked(task))), None)
    if cause is not None:
        yield Unschedulable(cause)
        return
    tried = attempt(session, job, bounded=not bounds)
    if tried.succeeded:
        if not bounds:
            yield FitsNow(detailed_text(job.fit_errors).strip() if job.fit_errors else "")
        return
    no_room = list(_no_room(job, tried))
    if any(isinstance(reason, NoNode) and reason.nodes.is_unschedulable for reason in no_room):
        yield from no_room
        return
    if not bounds:
        yield from _no_victims(session, job, running)
    yield from no_room
    if not bounds and "consolidation" in session.settings.actions and job.preemptible:
        yield from _fragmented(session, job)


def unusable_queue(session: Session, name: str) -> UnusableQueue | None:
    """Return why a queue cannot run jobs; None if it can."""
    queues = session.shares.queues
    if session.shares.holds_jobs_of(name):
        return None
    if name in queues:
        return UnusableQueue(name, None, children=tuple(sorted(queues[name].children)))
    parents = {queue.name: queue.parent for queue in session.snapshot.queues}
    broken = broken_path(name, parents) if name in parents else None
    if broken is None:
        return UnusableQueue(name, name)
    return UnusableQueue(name, broken.missing, broken.queue, broken.cycle)


def _undefined_sub_groups(session: Session, job: Job) -> Iterator[UndefinedSubGroup]:
    named = Counter(pod.sub_group for pod in pods_of_undefined_sub_groups(session, job))
    for part, n in sorted(named.items()):
        yield UndefinedSubGroup(part, n)


def _releases(session: Session, job: Job) -> Iterator[WaitsForRelease]:
    waiting = [task for task in job.tasks.values() if task.status == PIPELINED and task.node != NO_NODE]
    if waiting:
        nodes = sorted({session.nodes.names[task.node] for task in waiting})
        yield WaitsForRelease(tuple(nodes), len(waiting))


def _incomplete(job: Job) -> Iterator[IncompleteGang]:
    for pod_set in job.pod_sets.values():
        if not pod_set.is_ready:
            n_ready = pod_set.n_alive - pod_set.n_gated
            yield IncompleteGang(pod_set.name, n_ready, pod_set.n_gated, pod_set.min_available)


def _bounds(session: Session, job: Job) -> Iterator[OverLimit]:
    asked = requested(job.tasks_to_allocate(real=True), session.max_device_memory)
    for over in (over_limit(session.shares, job, asked), over_quota(session.shares, job, asked)):
        if over is not None:
            yield OverLimit(*over)


def _no_room(job: Job, tried: Attempt) -> Iterator[PendingReason]:
    topology = [error for error in tried.errors if error.reason not in (POD_SCHEDULING_ERRORS, *_BOUNDS)]
    other = [error for error in tried.errors if "topology" in error.detailed_message and error not in topology]
    if topology or other:
        yield NoDomain(tuple(error.detailed_message for error in (*other, *topology)))
    if tried.unplaced:
        # Of several domains or sub-groups, the one with the most placed pods.
        best = max(tried.unplaced, key=lambda unplaced: unplaced.n_placed)
        pod_set = job.pod_sets[best.task.pod_set]
        n_needed = max(pod_set.min_available - pod_set.n_allocated, 1)
        yield NoNode(best.task.pod.name, pod_set.name, best.n_placed, n_needed, best.nodes)


_BOUNDS = (OVER_LIMIT, NON_PREEMPTIBLE_OVER_QUOTA)


def _no_victims(session: Session, job: Job, running: _Running) -> Iterator[PendingReason]:
    """Yield why the evicting actions found no solution for a job, in their order."""
    actions, now = session.settings.actions, session.now
    if not {"reclaim", "preempt", "consolidation"} & set(actions) or not session.settings.generators:
        return
    if job.within_preemption_delay(now):
        since = job.created if job.last_eviction is None else max(job.created, job.last_eviction)
        delay = job.group.preemption_delay or 0.0
        yield Delayed(delay, since + delay - now)
        return
    if "reclaim" in actions and session.keeps_shares:
        may = can_reclaim(session, job)
        yield _no_reclaim_victims(session, job, running) if may else _over_fair_share(session, job)
    if "preempt" in actions:
        yield _no_preemption_victims(session, job, running)


def _fragmented(session: Session, job: Job) -> Iterator[Fragmented]:
    asked = sum(task.gpu.gpus for task in job.tasks_to_allocate(real=True))
    free = float(session.nodes.free_gpus()[session.nodes.ready].sum())
    if 0 < asked <= free:
        yield Fragmented(free, asked)


def why_no_reclaim(session: Session, job: Job) -> OverFairShare | None:
    """Return the share that prevents a job from reclaiming; None if it may reclaim, or if reclaim does not apply to it."""
    asks = "reclaim" in session.settings.actions and session.keeps_shares and session.shares.holds_jobs_of(job.queue)
    is_bounded = any(error.reason in _BOUNDS for error in job.fit_errors)
    if not asks or is_bounded or job.within_preemption_delay(session.now) or can_reclaim(session, job):
        return None
    return _over_fair_share(session, job)


def _over_fair_share(session: Session, job: Job) -> OverFairShare:
    queue = session.shares.queues[job.queue]
    request: Quantities = job.init_request(session.min_device_memory)
    for share, used, is_quota in ((queue.fair, queue.allocated, False), (queue.deserved, queue.allocated_np, True)):
        # Requested resources first: a queue may exceed its share of a resource that the job does not need.
        for r in sorted(range(len(RESOURCES)), key=lambda r: (request[r] == 0, -r)):
            if exceeds(used[r] + request[r], share[r]):
                return OverFairShare(queue.name, RESOURCES[r], share[r], used[r], request[r], is_quota)
    raise ValueError(f"{job.uid} may reclaim")


def _no_reclaim_victims(session: Session, job: Job, running: _Running) -> NoVictims:
    reclaimer = reclaimer_of(session, job)
    protects = "minruntime" in session.plugins
    within: list[str] = []
    judged: dict[str, bool] = {}
    n_protected = n_firm = n_tried = 0
    for queue, jobs in running().items():
        if queue == job.queue:
            continue
        if not may_be_victim(session, reclaimer, queue, judged):
            within.append(queue)
            continue
        own = [other for other in jobs if other.preemptible]
        n_firm += len(jobs) - len(own)
        minimum = reclaim_minimum(session, job, queue) if protects else 0.0
        protected = [other for other in own if not may_be_reclaimed(session, other, minimum)] if minimum > 0 else []
        n_protected += len(protected)
        n_tried += len(own) - len(protected)
    return NoVictims("reclaim", job.queue, tuple(within), n_protected, n_firm, n_tried)


def _no_preemption_victims(session: Session, job: Job, running: _Running) -> NoVictims:
    lower = [other for other in running().get(job.queue, ()) if other.priority < job.priority]
    own = [other for other in lower if other.preemptible]
    protects = "minruntime" in session.plugins
    protected = [other for other in own if protects and not may_be_preempted(session, other)]
    return NoVictims("preempt", job.queue, (), len(protected), len(lower) - len(own), len(own) - len(protected))
