"""The fates of running work under KAI Scheduler: cycles of the core for pending work, and a bound for future work.

Source: KAI v0.17.0, pkg/scheduler/plugins/proportion/reclaimable (workloads are reclaimed from a queue above its
deserved quota), actions/preempt (a higher priority in the same queue), actions/consolidation,
actions/stalegangeviction, and api/podgroup_info IsPreemptibleJob, which all of them use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion_api.kai.names import DEFAULT_SCHEDULER
from apportion_api.kai.objects import OwnerReference, PodGroup
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.fates.kai_cluster import KaiShard, pod_groups
from apportion_review.fates.kai_pod_groups import pod_grouping
from apportion_review.fates.kai_quotas import Excess, Quotas
from apportion_review.fates.losses import losses
from apportion_review.fates.records import EngineFates, Fate, Verdict, Workload, WorkloadFate
from apportion_review.fates.unmanaged import unmanaged
from apportion_review.fates.workloads import UNKNOWN_MODEL, models_of_nodes
from apportion_runtime.core.job import Job
from apportion_runtime.core.rounds import rounds
from apportion_runtime.core.search_limit import SearchLimit
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES
from apportion_runtime.core.task import Task

SOURCE = "KAI Scheduler v0.17.0"
_N_CYCLES, _INTERVAL_S = 5, 40.0
_MAX_EVICTIONS = 20_000
_WHY_INCOMPLETE = f"the search for victims stopped after {_MAX_EVICTIONS:,} simulated evictions"
_ACTIONS = {"reclaim": "reclaimed", "preempt": "preempted", "consolidation": "moved by consolidation"}
_NOTES = (
    f"`evicted now` lists the workloads that are evicted for the snapshot's pending work in {_N_CYCLES} cycles, {_INTERVAL_S:.0f} s apart.",
    "Evictions due to failed or drained nodes, and evictions by other schedulers, are not modelled.",
)


def kai_fates(base: ClusterState, head: ClusterState) -> EngineFates:
    """Return the fates of the running pod groups of a cluster."""
    notes: list[str] = []
    unread: list[str] = []
    sides: list[_Side | None] = []
    for name, state in (("base", base), ("head", head)):
        try:
            sides.append(_Side(state))
        except ValueError as wrong:
            notes.append(f"The {name} cannot be evaluated: {wrong}.")
            unread.append(f"the {name} cannot be evaluated: {wrong}")
            sides.append(None)
    running: dict[str, tuple[_Side, Job]] = {}
    for evaluated in filter(None, sides):
        for uid, job in evaluated.running.items():
            running.setdefault(uid, (evaluated, job))
    groups = pod_groups(base.objects, base.known)
    owners, nodes = _owners(groups), models_of_nodes(base.objects)
    rows: list[WorkloadFate] = []
    for uid, (known, job) in sorted(running.items(), key=lambda each: (each[1][1].group.namespace, each[1][1].name)):
        before, after = (
            Verdict(Fate.UNKNOWN, "the cluster's objects cannot be evaluated under this policy")
            if side is None
            else side.verdict(uid)
            for side in sides
        )
        rows.append(WorkloadFate(_workload(known, job, owners, nodes), before, after))
    lost = losses(base.objects, head.objects)
    schedulers = frozenset(name for side in sides if side is not None for name in side.schedulers)
    grouping = pod_grouping(base.objects, groups, schedulers or frozenset((DEFAULT_SCHEDULER,)))
    reasons = [_WHY_INCOMPLETE] if any(side.is_incomplete for side in sides if side is not None) else []
    reasons += [*unread, *grouping.faults]
    return EngineFates(
        "kai",
        SOURCE,
        is_verified=True,
        rows=tuple(map(lost.in_namespace, rows)),
        notes=(*notes, *grouping.notes, *_NOTES),
        why_incomplete=" and ".join(reasons),
        unmanaged=unmanaged(grouping.unmanaged, nodes),
    )


@dataclass(frozen=True, slots=True)
class _Eviction:
    """The eviction of a running job in simulated cycles; `queue` is that of the preemptor."""

    rule: str
    queue: str


class _Side:
    """A cluster under one policy. Raises `ValueError` for objects that cannot be evaluated."""

    def __init__(self, state: ClusterState) -> None:
        cluster = state.kai
        self.queue_ids = cluster.queue_ids
        self._owners = _owners(pod_groups(state.objects, state.known))
        self.running: dict[str, Job] = {}
        self._evicted: dict[str, _Eviction] = {}
        self._excess: dict[str, Excess | None] = {}
        self._in_exceeded_queues: set[str] = set()
        self._without_queue: set[str] = set()
        self.is_incomplete = False
        self.schedulers: set[str] = set()
        for shard in cluster.shards:
            self._run(shard)

    def _run(self, shard: KaiShard) -> None:
        self.schedulers.add(shard.settings.scheduler_name)
        started = {pod.group for pod in shard.snapshot.pods if pod.status & ACTIVE_ALLOCATED_STATUSES}
        held = {uid: job for uid, job in shard.opened.jobs.items() if uid in started}
        self.running |= held
        self._without_queue |= {job.uid for job in shard.opened.jobs_without_queue() if job.uid in started}
        quotas = Quotas(shard.opened.shares.queues, held.values())
        self._excess |= quotas.excesses()
        self._in_exceeded_queues |= quotas.in_exceeded_queues()
        limit = SearchLimit(_MAX_EVICTIONS)
        for session in rounds(shard.snapshot, shard.settings, _N_CYCLES, _INTERVAL_S, limit):
            for task, _, why in session.decided.evictions:
                self._note(session, task, why)
        self.is_incomplete |= limit.is_exceeded

    def _note(self, session: Session, task: Task, why: object) -> None:
        action, uid = why if isinstance(why, tuple) else ("", "")
        beneficiary = session.jobs.get(uid)
        if beneficiary is None:
            eviction = _Eviction("fewer running pods than its gang's minimum (stalegangeviction)", "")
        else:
            queue = self.queue_ids.get(beneficiary.queue, beneficiary.queue)
            eviction = _Eviction(
                f"{_ACTIONS.get(action, action)} for {self._name(beneficiary)}, which is pending in {queue}", queue
            )
        self._evicted.setdefault(task.job, eviction)

    def _name(self, job: Job) -> str:
        return self._owners.get((job.group.namespace, job.name), ("", job.name))[1]

    def verdict(self, uid: str) -> Verdict:
        """Return the fate of a running job of the snapshot."""
        job = self.running.get(uid)
        if job is None:
            return Verdict(Fate.STUCK, "no SchedulingShard covers its node pool, so no scheduler evicts it")
        evicted = self._evicted.get(uid)
        if evicted is not None:
            return Verdict(Fate.EVICTED, evicted.rule, evicted.queue)
        if uid in self._without_queue:
            return Verdict(
                Fate.UNKNOWN, "its queue does not exist, and the scheduler may fail while searching for victims"
            )
        if not job.is_gang_satisfied:
            return Verdict(Fate.UNKNOWN, "fewer running pods than its gang's minimum: stalegangeviction may evict it")
        excess = self._excess[uid]
        if not job.preemptible:
            if excess is not None:
                return Verdict(Fate.STUCK, f"not preemptible, and {self._text(excess)}")
            return Verdict(Fate.SAFE, "not preemptible, and all its queues are within their quotas")
        own = self.queue_ids.get(job.queue, job.queue)
        if excess is not None and excess.beneficiary:
            beneficiary_queue = self.queue_ids.get(excess.beneficiary, excess.beneficiary)
            return Verdict(
                Fate.ON_DEMAND, f"preemptible, and {self._text(excess)}: other queues may reclaim it", beneficiary_queue
            )
        rule = "preemptible: jobs with a higher priority in its own queue can preempt it, and it can be moved to other nodes"
        if uid in self._in_exceeded_queues:
            rule += ", and other queues can reclaim it because its queue, or one of that queue's ancestors, is over its quota or limit"
        return Verdict(Fate.ON_DEMAND, rule, own)

    def _text(self, excess: Excess) -> str:
        queue = self.queue_ids.get(excess.queue, excess.queue)
        return f"exceeds {queue}'s {excess.bound} of {excess.amount:g} {excess.unit}"


def _owners(groups: Sequence[PodGroup]) -> Mapping[tuple[str, str], tuple[str, str]]:
    """Return kind and name of the owner of each pod group, by its namespace and name."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for group in groups:
        owner = next(iter(group.owners), OwnerReference())
        found[group.namespace, group.name] = owner.kind or "PodGroup", owner.name or group.name
    return found


def _workload(
    side: _Side, job: Job, owners: Mapping[tuple[str, str], tuple[str, str]], nodes: Mapping[str, str]
) -> Workload:
    kind, name = owners.get((job.group.namespace, job.name), ("PodGroup", job.name))
    gpus: dict[str, int] = {}
    held = [task for task in job.tasks.values() if task.status & ACTIVE_ALLOCATED_STATUSES]
    for task in held:
        amount = round(task.quantities[2] * 1000)
        if amount:
            model = nodes.get(task.pod.node or "", UNKNOWN_MODEL)
            gpus[model] = gpus.get(model, 0) + amount
    classes = {task.pod.priority_class for task in held}
    return Workload(
        kind,
        job.group.namespace,
        name,
        side.queue_ids.get(job.queue, job.queue),
        gpus,
        len(held),
        classes.pop() if len(classes) == 1 else "",
        job.preemptible,
        job.group.last_start,
    )
