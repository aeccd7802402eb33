"""The session cache: a session kept between cycles; only what changed is opened again.

Records are added one by one, and `open` returns the session that a snapshot of all records would give: it rebuilds the
jobs whose records changed or that were decided on, and the nodes that were charged since. With resource claims or NUMA
zones, and whenever nodes or queues change, it opens a new session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from apportion_runtime.core.node_ranking import has_pod_constraints
from apportion_runtime.core.node_refill import refill, refill_some
from apportion_runtime.core.plugins.gpu_choice import last_new_group
from apportion_runtime.core.queue_totals import QueueTotals
from apportion_runtime.core.reasons import Reasons
from apportion_runtime.core.running_totals import RunningMaximum
from apportion_runtime.core.session import Decisions, Session
from apportion_runtime.core.session_changes import Changes
from apportion_runtime.core.snapshot import (
    Claim,
    Device,
    DeviceClass,
    Node,
    Pod,
    PodGroup,
    Queue,
    Settings,
    Snapshot,
    Topology,
)
from apportion_runtime.core.status import ACTIVE_USED_STATUSES
from apportion_runtime.core.task import NO_NODE, Task

_MOST_CHANGES = 200_000
"""Changes of nodes kept for the rankings before these are rebuilt."""
MOST_LEFTOVERS = 10_000
"""Distinct requests, constraints and queues of pods and jobs that are gone before a new session is opened."""
_MOST_REQUESTS = 1_000
"""Requests that are known to name no new resource."""
_NO_GROUP = ""


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """The records of a cluster other than pods and pod groups; a change opens a new session."""

    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    topologies: tuple[Topology, ...] = ()
    claims: tuple[Claim, ...] = ()
    devices: tuple[Device, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()

    @property
    def needs_new_sessions(self) -> bool:
        """Whether each cycle opens a new session: with claims, devices or NUMA zones."""
        return bool(self.claims or self.devices or self.device_classes) or any(node.numa for node in self.nodes)


class SessionCache:
    """The records of a cluster, and the session last opened from them."""

    def __init__(self, settings: Settings, cluster_info: ClusterInfo) -> None:
        self.settings = settings
        self._cluster_info = cluster_info
        self._needs_new_sessions = cluster_info.needs_new_sessions
        self._groups: dict[str, PodGroup] = {}
        self._pods: dict[str, dict[str, Pod]] = {_NO_GROUP: {}}
        self._numbers: dict[str, int] = {}
        self._n_groups = 0
        self._pods_by_node: dict[str, dict[str, Pod]] = {}
        # Those of other schedulers, also in groups: the queues do not divide what they hold.
        self._others: dict[str, Pod] = {}
        self._session: Session | None = None
        self._tasks: dict[str, Task] = {}
        self._device_ids = RunningMaximum()
        self._last_starts = RunningMaximum()
        self._totals: QueueTotals | None = None
        # Requests of which the session has all resources, by id: pods that are read with the same request share it.
        self._known_requests: dict[int, Mapping[str, float]] = {}
        self._read_changes = 0
        self._changes = Changes()
        # Whether every change since the session was opened carries out its decisions.
        self._only_binds_changed = False

    @property
    def cluster_info(self) -> ClusterInfo:
        """The records other than pods and pod groups."""
        return self._cluster_info

    def set_cluster_info(self, cluster_info: ClusterInfo) -> None:
        """Replace nodes, queues and devices."""
        self._cluster_info = cluster_info
        self._needs_new_sessions = cluster_info.needs_new_sessions
        self._session = None
        self._only_binds_changed = False

    def only_binds_changed(self) -> bool:
        """Return whether a session without actions would have the allocations of the last one after its decisions.

        Only pods were bound, and times of groups set, and all sums of amounts are exact. The caller makes sure that all
        decisions were binds that were carried out, of pods that are charged what they request.
        """
        totals = self._totals
        return self._only_binds_changed and not self._needs_new_sessions and totals is not None and totals.are_plain

    def put_bound(self, pod: Pod) -> None:
        """Replace a pod that was bound as the session decided."""
        only_binds_changed = self._only_binds_changed
        self.put_pod(pod)
        self._only_binds_changed = only_binds_changed

    def set_times(self, group: PodGroup) -> None:
        """Replace a pod group by one that differs at most in the times that the session set."""
        only_binds_changed = self._only_binds_changed
        self.put_group(group)
        self._only_binds_changed = only_binds_changed

    def groups(self) -> Mapping[str, PodGroup]:
        """Return the pod groups by id, in the order they were added."""
        return self._groups

    def pods_of(self, group: str) -> Mapping[str, Pod]:
        """Return the pods of a group by id."""
        return self._pods.get(group, {})

    def put_group(self, group: PodGroup) -> None:
        """Add or replace a pod group."""
        self._only_binds_changed = False
        before = self._groups.get(group.uid)
        if before is None:
            self._n_groups += 1
            self._numbers[group.uid] = self._n_groups
            self._pods.setdefault(group.uid, {})
        elif before.queue != group.queue:
            self._session = None
        self._groups[group.uid] = group
        if group.last_start is None:
            self._last_starts.drop(group.uid)
        else:
            self._last_starts.put(group.uid, group.last_start)
        self._changes.jobs[group.uid] = None

    def sort_groups(self) -> None:
        """Order the pod groups by namespace and name, as in a snapshot of a cluster."""
        self._groups = dict(sorted(self._groups.items(), key=lambda item: (item[1].namespace, item[0])))
        self._n_groups = len(self._groups)
        for number, uid in enumerate(self._groups):
            self._numbers[uid] = number
            if self._session is not None and uid in self._session.jobs:
                self._session.jobs[uid].number = number

    def sort_pods(self, groups: Iterable[str]) -> None:
        """Order the pods of some groups by namespace and name, as in a snapshot of a cluster."""
        for uid in groups:
            pods = self._pods[uid]
            self._pods[uid] = dict(sorted(pods.items(), key=lambda item: (item[1].namespace, item[1].name)))

    def drop_group(self, uid: str) -> None:
        """Remove a pod group and its pods."""
        self._only_binds_changed = False
        for pod in list(self._pods.get(uid, {}).values()):
            self.drop_pod(pod)
        del self._groups[uid], self._pods[uid], self._numbers[uid]
        self._last_starts.drop(uid)
        self._changes.jobs.pop(uid, None)
        session = self._session
        if session is not None and uid in session.jobs:
            job = session.jobs.pop(uid)
            session.queue_jobs[job.queue].remove(job)
            if not session.pending_classes.holds(uid):
                # Otherwise the names of removed jobs accumulate until a job is pending for which classes are used.
                session.active_jobs.unclassified.pop(uid, None)
            assert self._totals is not None
            self._totals.drop(job)

    def mark_unreported(self, groups: Iterable[str]) -> None:
        """Request new reasons for pending pod groups that `Reasons.report_filter` left out."""
        if self._session is not None:
            self._session.active_jobs.unclassified.update(dict.fromkeys(groups))

    def put_pod(self, pod: Pod) -> None:
        """Add or replace a pod; its pod group has been added before."""
        self._only_binds_changed = False
        group, uid = self._group_of(pod), pod.uid
        before = self._pods[group].get(uid)
        if before is not None:
            if before.node is None:
                self._device_ids.drop(uid)
            else:
                self._detach(before)
        is_known = not pod.gpu.mig and self._known_requests.get(id(pod.request)) is pod.request
        if self._session is not None and not is_known:
            self._changes.requests.append(pod)
        self._pods[group][uid] = pod
        if pod.node is not None and pod.status & ACTIVE_USED_STATUSES:
            self._pods_by_node.setdefault(pod.node, {})[uid] = pod
            if pod.scheduler != self.settings.scheduler_name:
                self._others[uid] = pod
                self._changes.others = True
        if pod.gpu_groups:
            self._device_ids.put(uid, last_new_group((pod,)))
        self._changed(pod, group)

    def drop_pod(self, pod: Pod) -> None:
        """Remove a pod."""
        self._only_binds_changed = False
        group = self._group_of(pod)
        self._detach(self._pods[group].pop(pod.uid))
        self._tasks.pop(pod.uid, None)
        if self._session is not None:
            self._session.predicates.forget(pod.uid)
        self._changed(pod, group)

    def _group_of(self, pod: Pod) -> str:
        return pod.group if pod.group is not None and pod.group in self._groups else _NO_GROUP

    def _detach(self, pod: Pod) -> None:
        self._device_ids.drop(pod.uid)
        if pod.node is None:
            return
        if self._others.pop(pod.uid, None) is not None:
            self._changes.others = True
        self._pods_by_node.get(pod.node, {}).pop(pod.uid, None)
        self._note_node(pod)

    def _changed(self, pod: Pod, group: str) -> None:
        if group != _NO_GROUP:
            self._changes.jobs[group] = None
        else:
            self._changes.others = True
        if pod.node is not None:
            self._note_node(pod)

    def _note_node(self, pod: Pod) -> None:
        if self._session is not None:
            i = self._session.nodes.index.get(pod.node or "")
            if i is not None:
                self._changes.outdate(i, pod.uid)

    def snapshot(self, now: float) -> Snapshot:
        """Return a snapshot of all records."""
        known = self._cluster_info
        pods = chain.from_iterable(self._pods[uid].values() for uid in chain(self._groups, (_NO_GROUP,)))
        return Snapshot(
            nodes=known.nodes,
            queues=known.queues,
            pod_groups=tuple(self._groups.values()),
            pods=tuple(pods),
            topologies=known.topologies,
            claims=known.claims,
            devices=known.devices,
            device_classes=known.device_classes,
            now=now,
        )

    def open(self, now: float, *, decides: bool = True) -> Session:
        """Return a session on the current records, in which no action has run.

        The session of the previous cycle must not be used any more.

        Args:
            now: The time, in seconds since 1970.
            decides: Whether actions will run; otherwise only jobs and queues are current, and nodes may be outdated.
        """
        session = self._session
        if (
            session is None
            or self._needs_new_sessions
            or self._has_new_resources(session)
            or self._has_leftovers(session)
        ):
            session = self._open_anew(self.snapshot(now))
            self._changes.nodes.clear()
        else:
            session.begin_cycle(now, lambda: self.snapshot(now))
            self._reopen(session)
        outdated = self._changes.nodes
        if decides:
            self._refill(session, outdated)
            outdated = {}
        self._read_changes = len(session.nodes.changed)
        self._changes = Changes(nodes=outdated)
        self._only_binds_changed = True
        return session

    def _has_leftovers(self, session: Session) -> bool:
        # A pod has one request and at most two kinds of constraints, and a job one queue.
        return session.n_distinct > MOST_LEFTOVERS + 3 * len(self._tasks) + len(self._groups)

    def _has_new_resources(self, session: Session) -> bool:
        index = session.resources
        for pod in self._changes.requests:
            if any(index.get(name) < 0 for name in chain(pod.request, (name for name, _ in pod.gpu.mig))):
                return True
            if len(self._known_requests) >= _MOST_REQUESTS:
                self._known_requests.clear()
            self._known_requests[id(pod.request)] = pod.request
        return False

    def _open_anew(self, snapshot: Snapshot) -> Session:
        session = self._session = Session(snapshot, self.settings)
        self._known_requests.clear()
        self._tasks = {uid: task for job in session.jobs.values() for uid, task in job.tasks.items()}
        for number, uid in enumerate(self._groups):
            self._numbers[uid] = number
        self._n_groups = len(self._groups)
        self._totals = QueueTotals(session)
        return session

    def _reopen(self, session: Session) -> None:
        self._collect_decisions(session)
        for uid in self._changes.jobs:
            self._rebuild_job(session, uid)
        if self._changes.others:
            self._rebuild_others(session)
        assert self._totals is not None
        self._totals.count(self._changes.jobs)
        self._begin_cycle(session, self._totals)

    def _refill(self, session: Session, outdated: Mapping[int, Iterable[str]]) -> None:
        """Charge nodes with their current pods."""
        known, nodes = self._tasks, session.nodes
        for i in sorted(outdated):
            pods = self._pods_by_node.get(nodes.names[i], {})
            changed = dict.fromkeys(chain(outdated[i], nodes.placed.get(i, ())))
            some: dict[str, Task] = {}
            for uid in changed:
                if uid in pods:
                    task = known.get(uid)
                    some[uid] = task if task is not None else known.setdefault(uid, session.open_task(pods[uid]))
            if not refill_some(nodes, i, changed, some):
                for uid in sorted(pods):
                    if uid not in known:
                        known[uid] = session.open_task(pods[uid])
                refill(nodes, i, [known[uid] for uid in sorted(pods)])

    def _collect_decisions(self, session: Session) -> None:
        """Collect the jobs and nodes that the last actions changed; their records hold the outcome."""
        nodes, decided = session.nodes, session.decided
        changed = set(nodes.changed[self._read_changes :])
        touched = chain(decided.binds, decided.pipelines, (task for task, _, _ in decided.evictions))
        jobs = [task.job for task in touched]
        jobs += [job.uid for job in session.active_jobs.changed.values() if job.has_new_times]
        for i in sorted(changed):
            self._changes.nodes.setdefault(i, {})
            entries = nodes.entries[i]
            for uid in entries if i in nodes.disturbed else nodes.placed.get(i, ()):
                task = self._tasks.get(uid)
                if task is not None and (entries[uid].status != task.pod.status or task.status != task.pod.status):
                    jobs.append(task.job)
        self._changes.jobs.update((uid, None) for uid in jobs if uid in self._groups)

    def _rebuild_job(self, session: Session, uid: str) -> None:
        group, pods, job = self._groups[uid], self._pods[uid], session.jobs.get(uid)
        tasks: Iterable[Task]
        if job is not None and job.number == self._numbers[uid] and job.confirm_binds(group, pods, session.nodes.names):
            tasks = job.tasks.values()
        else:
            tasks = [session.open_task(pod) for pod in pods.values()]
            session.open_job(group, tasks, self._numbers[uid])
        for task in tasks:
            self._tasks[task.uid] = task
            if has_pod_constraints(task.pod):
                session.predicates.note(task.pod)
                session.rankings.note(task.pod)
            else:
                session.predicates.replace(task.pod)
            if task.node != NO_NODE:
                self._changes.outdate(task.node, task.uid)

    def _rebuild_others(self, session: Session) -> None:
        session.others = [(pod, session.open_task(pod).quantities) for pod in self._others.values()]
        for pod in self._pods[_NO_GROUP].values():
            task = self._tasks[pod.uid] = session.open_task(pod)
            session.predicates.note(pod)
            session.rankings.note(pod)
            if task.node != NO_NODE:
                self._changes.outdate(task.node, task.uid)

    def _begin_cycle(self, session: Session, totals: QueueTotals) -> None:
        """Begin a cycle with current shares, no decisions and no notes."""
        session.n_groups = int(self._device_ids.get(0))
        session.starts_later = self._last_starts.get(session.now) > session.now
        if self._changes.others:
            session.shares.set_total(session.nodes, session.others)
        totals.recount()
        session.shares.divide(self.settings.k_value)
        session.topologies.forget_scores()
        if len(session.nodes.changed) > _MOST_CHANGES:
            session.rankings = type(session.rankings)(session)
            session.nodes.forget_changes()
        session.decided = Decisions()
        for job in chain(session.jobs_of_cycle(), session.jobs_without_queue()):
            job.forget_notes()
        session.active_jobs.changed = {}
        session.reasons = Reasons(session)
