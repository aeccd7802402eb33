"""Kueue in the embedded cluster: jobs are held back, their workloads wait in queues, and are released with quota.

Each call runs Kueue's cycles until one changes nothing, and then one of kube-scheduler's, which places what was released.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from apportion_runtime.admission.expanding.suspension import with_suspended
from apportion_runtime.admission.objects import kind_of, labels_of
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.base.engine import PlainEngine
from apportion_runtime.engines.kube_scheduler import KubeScheduler, PodFacts, read_profiles
from apportion_runtime.engines.kube_scheduler.profiles import KIND
from apportion_runtime.engines.kueue.api_names import PRIORITY_CLASS, WORKLOAD
from apportion_runtime.engines.kueue.deadlines import Deadlines
from apportion_runtime.engines.kueue.jobs import Jobs
from apportion_runtime.engines.kueue.object_reader import Configured, List, read, selects, unmodelled
from apportion_runtime.engines.kueue.pending_queue import PendingQueue
from apportion_runtime.engines.kueue.pod_sets import (
    Path,
    originals_of,
    places,
    resized,
    shape,
    updated,
    with_templates,
)
from apportion_runtime.engines.kueue.pod_workloads import PodWorkloads
from apportion_runtime.engines.kueue.provisioner import Provisioner
from apportion_runtime.engines.kueue.provisioning_requests import flavor_update
from apportion_runtime.engines.kueue.queue_samples import sample
from apportion_runtime.engines.kueue.quota_holders import QuotaHolders
from apportion_runtime.engines.kueue.quota_release import QuotaRelease
from apportion_runtime.engines.kueue.records import Holder, Pending, PodSet, Queue
from apportion_runtime.engines.kueue.scheduling_cycle import Entry, Outcome, run_cycle
from apportion_runtime.engines.kueue.usage_tree import UsageTree
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState, set_status, workload_object
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.events import EngineEvent
from apportion_runtime.sim.api.object_store import Change
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Handlers, UnreadableError
from apportion_runtime.sim.history import ENDED_BY_SUCCESS
from apportion_runtime.sim.provisioning.autoscaler import CONSUMES, Autoscaler
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.scenario.format import Manifest


@dataclass(frozen=True, slots=True)
class BackoffEnds(EngineEvent):
    """Work that backs off may be looked at again."""


class Kueue(PlainEngine):
    """Kueue at work, with kube-scheduler and the provider's autoscaler.

    Attributes:
        units: Every workload that it manages, by namespace and name of its Workload.
        book: Who of them holds quota.
        waiting: By ClusterQueue those that wait.
    """

    name = "kueue"

    def __init__(self, cluster_state: ClusterState) -> None:
        super().__init__(cluster_state)
        self.configured: Configured = readable(cluster_state.store.list)
        cluster_state.records.faults.extend(unmodelled(cluster_state.store.list))
        self._jobs = Jobs(cluster_state.store, lambda: self.configured)
        self._pod_workloads = PodWorkloads(self, self._jobs)
        self.units: dict[str, WorkloadState] = {}
        self._by_number: dict[int, WorkloadState] = {}
        self.waiting = {name: PendingQueue(queue.strategy) for name, queue in self.configured.rules.queues.items()}
        self.book = QuotaHolders(self.configured.rules.queues.values(), self.configured.rules.cohorts)
        self._freed: list[str] = []
        self._releasing = False
        self._dirty = True
        self._profiles, unknown = read_profiles(cluster_state.store.list(KIND))
        if unknown:
            raise UnreadableError(
                f"KubeSchedulerConfiguration: kube-scheduler knows no plugin {', '.join(unknown)}, and does not start"
            )

    @property
    def parents(self) -> Mapping[str, str | None]:
        """ClusterQueues and Cohorts, and of each the Cohort that it is in."""
        return self.configured.parents

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Take in what it acts upon."""
        super().begin(workloads, pools)
        self._scheduler = KubeScheduler(self.cluster_state, workloads, self.pods.facts, self._profiles)
        self.leaving = QuotaRelease(self)
        self.deadlines = Deadlines(self)
        self.cluster_state.store.watch("LocalQueue", self._queue_changed)

    def make_autoscaler(self) -> Autoscaler:
        """Return what answers ProvisioningRequests, and tells Kueue."""
        self.provisioner = Provisioner(self)
        return Autoscaler(
            self.cluster_state,
            self.workloads,
            self.pools.pools,
            told=self.provisioner.answered,
            owner=self.provisioner.owner,
        )

    def handlers(self) -> Handlers:
        """Return what is done at each of its events."""
        return {**super().handlers(), BackoffEnds: lambda _: self._backoff_ends(), **self.deadlines.handlers()}

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is kept: what Kueue manages is held back, and pods are bound to their nodes."""
        held = self._jobs.held_back(made)
        if kind_of(held) == ("", "Pod"):
            self._pod_workloads.check_group(held)
        return super().admit(held)

    def made(self, running: Running) -> None:
        """Make the Workload of a job, and have it wait in its queue."""
        job = running.manifest
        self.cluster_state.history.workloads[running.number].queue = ""
        unit = self._jobs.unit(running.number, job, places(job)) if self._jobs.manages(job) else None
        if unit is None:
            return
        if isinstance(unit, str):
            self.note_waiting(running.number, unit)
            return
        self.units[unit.key] = self._by_number[running.number] = unit
        self.cluster_state.history.workloads[running.number].queue = unit.queue
        self.cluster_state.store.create(workload_object(job, unit, labels_of(job).get(PRIORITY_CLASS, "")))
        self.cluster_state.note("queued", workload=running.number, why=f"Created Workload: {unit.key}")
        self.wait(unit)

    def take_in(self, running: Running, made: Manifest) -> Pod:
        """Read a pod that was just made; one that is held back itself is a workload, or waits for those of its group."""
        record = super().take_in(running, made)
        self._pod_workloads.add(running, made)
        return record

    def wait(self, unit: WorkloadState) -> None:
        """Have a workload wait in its queue, not before its time."""
        cluster_state = self.cluster_state
        unit.phase, self._dirty = Phase.WAITING, True
        if not unit.pods:
            gang = self.pods.gangs.name_of(self.workloads.running[unit.number])
            cluster_state.history.begin_wait(gang, unit.number, unit.queue, cluster_state.elapsed_s)
        if unit.queue not in self.waiting:
            missing = (
                f"LocalQueue {unit.local_queue} doesn't exist"
                if not unit.queue
                else f"ClusterQueue {unit.queue} doesn't exist"
            )
            self.note_waiting(unit.number, missing)
            return
        self.waiting[unit.queue].push(unit.pending(), now=cluster_state.now, not_before=unit.not_before)
        if unit.not_before > cluster_state.now:
            cluster_state.events.plan(unit.not_before, BackoffEnds())
        cluster_state.request_cycle()

    def wake(self, queue: str) -> None:
        """Have the workloads of a queue's whole cohort looked at again: there may be room."""
        self._dirty = True
        self._freed.append(queue)
        for waiting in self._cohort_of(queue):
            waiting.wake(self.cluster_state.now)
        self.cluster_state.request_cycle()

    def _cohort_of(self, queue: str) -> Iterator[PendingQueue]:
        root = self._root(queue)
        for name, waiting in self.waiting.items():
            if name == queue or self._root(name) == root:
                yield waiting

    def _root(self, name: str) -> str:
        parents, seen = self.parents, {name}
        while (above := parents.get(name)) is not None and above not in seen:
            name = above
            seen.add(name)
        return name

    def _backoff_ends(self) -> None:
        for waiting in self.waiting.values():
            waiting.wake(self.cluster_state.now)
        self.cluster_state.request_cycle()

    def _queue_changed(self, change: Change) -> None:
        """A LocalQueue was made after the beginning: its work may go on."""
        if change.what != "added":
            return
        self.configured = readable(self.cluster_state.store.list)
        for unit in self.units.values():
            if not unit.queue:
                unit.queue = self.configured.local_queues.get((unit.namespace, unit.local_queue), "")
                self.wait(unit)

    def run_cycle(self) -> None:
        """Admit workloads, and place the pods of those that were."""
        self.cluster_state.history.n_cycles += 1
        while self._run_cycle():
            self._dirty = True
        waiting = self.pods.waiting()
        unplaced = self._scheduler.run_cycle([pod for pod in waiting if self._scheduler.is_mine(pod.record)])
        for each in unplaced:
            self.explain(each.pod, each.why)
        for pod in waiting:
            if not self._scheduler.is_mine(pod.record):
                self.explain(pod, f"no scheduler here is called {pod.record.scheduler}")
        self.grow(each.pod for each in unplaced if not each.is_held and not self._consumes(each.pod))
        if self._dirty:
            sample(self)
            self._dirty = False

    def _consumes(self, pod: PodFacts) -> bool:
        state = self.cluster_state.pods[pod.uid]
        made = self.cluster_state.store.get("Pod", state.namespace, state.name)
        annotations = {} if made is None else made["metadata"].get("annotations") or {}
        return any(key in annotations for key in CONSUMES)

    def _run_cycle(self) -> bool:
        """Run one of Kueue's cycles; tell whether another one might change anything."""
        heads: list[Pending] = []
        for name in sorted(self.waiting):
            head = self.waiting[name].pop() if self.waiting[name].is_active else None
            if head is not None:
                heads.append(head)
        if not heads:
            return False
        entries = run_cycle(
            self.configured.rules, heads, self.book.situation(self.cluster_state.now), refuses=self._refusal
        )
        self._freed = []
        goes_on = False
        for entry in entries:
            goes_on = self._apply(entry) or goes_on
        # What was freed meanwhile may be room for heads that were parked after that.
        for queue in tuple(dict.fromkeys(self._freed)):
            self.wake(queue)
        return goes_on

    def _refusal(self, workload: Pending, queue: Queue) -> str:
        if queue.inactive_because:
            return f"ClusterQueue {queue.name} is inactive: {queue.inactive_because}"
        if not selects(queue.selector, self._jobs.labels_of(workload.namespace)):
            return "Workload namespace doesn't match ClusterQueue selector"
        return ""

    def _apply(self, entry: Entry) -> bool:
        """Do what was decided about a head; tell whether another cycle might decide otherwise."""
        unit = self.units[entry.workload.key]
        waiting = self.waiting[unit.queue]
        if entry.outcome is Outcome.RESERVED:
            self._reserve(unit, entry)
            return True
        is_new = False
        if entry.outcome is Outcome.PREEMPTING:
            for target in entry.targets:
                is_new = self.leaving.preempt(self.units[target.holder.key], unit, target.reason) or is_new
        unit.message = entry.message
        self.note_waiting(unit.number, entry.message)
        waiting.give_back(entry.again(), entry.why)
        was_parked = not waiting.is_waiting(unit.key)
        return is_new or was_parked

    def _reserve(self, unit: WorkloadState, entry: Entry) -> None:
        """Give a workload its quota; it is admitted when its checks are ready."""
        cluster_state, assignment = self.cluster_state, entry.assignment
        unit.phase, unit.flavors, unit.message = Phase.RESERVED, assignment.flavors, ""
        unit.assigned = assignment.pod_sets
        unit.holder = Holder(
            unit.key,
            unit.queue,
            assignment.usage,
            unit.uid,
            unit.priority,
            unit.ordered_at,
            reserved_at=cluster_state.now,
        )
        self.book.put(unit.holder)
        self.waiting[unit.queue].remove(unit.key)
        given = sorted({flavor for of in unit.flavors.values() for flavor in of.values()})
        queue = self.configured.rules.queues[unit.queue]
        unit.checks = tuple(check.name for check in queue.checks if not check.flavors or check.flavors & set(given))
        unit.ready = {}
        message = f"Quota reserved in ClusterQueue {unit.queue}"
        fewer = [f"{got.count} of {all_.count} pods" for got, all_ in _pairs(unit) if got.count < all_.count]
        cluster_state.note(
            "reserved", workload=unit.number, why=", ".join((message, f"flavors {', '.join(given)}", *fewer))
        )
        set_status(
            cluster_state.store, unit, cluster_state.clock.text,
            (("QuotaReserved", True, "QuotaReserved", message), ("Evicted", False, "QuotaReserved", message)),
            admission={
                "clusterQueue": unit.queue,
                "podSetAssignments": [
                    {"name": each.name, "count": each.count, "flavors": dict(unit.flavors.get(each.name, {}))}
                    for each in unit.assigned
                ],
            },
        )  # fmt: skip
        for check in unit.checks:
            self.provisioner.ask(unit, check)
        self.admit_if_ready(unit)

    def admit_if_ready(self, unit: WorkloadState) -> None:
        """Release the job of a workload whose checks are all ready."""
        if unit.phase is not Phase.RESERVED or any(check not in unit.ready for check in unit.checks):
            return
        cluster_state = self.cluster_state
        unit.phase, unit.n_releases, self._dirty = Phase.ADMITTED, unit.n_releases + 1, True
        message = f"Admitted by ClusterQueue {unit.queue}"
        cluster_state.note("admitted", workload=unit.number, why=message)
        set_status(cluster_state.store, unit, cluster_state.clock.text, (("Admitted", True, "Admitted", message),))
        if unit.pods:
            released = {place.name: self._released(unit, place.name, place.template) for place in unit.places}
            cluster_state.history.workloads[unit.number].end_waiting()
            self._pod_workloads.release(unit, released)
            self.deadlines.begin(unit)
            return
        running = self.workloads.running[unit.number]
        templates: dict[Path, Any] = {
            place.path: self._released(unit, place.name, unit.originals[place.path])
            for place in unit.places
            if place.path
        }
        if any(got.count < all_.count for got, all_ in _pairs(unit)):
            templates |= resized(running.manifest, unit.assigned[0].count)
        cluster_state.history.workloads[unit.number].end_waiting()
        self._change(unit, with_suspended(with_templates(running.manifest, templates), suspended=False))
        self.deadlines.begin(unit)

    def _released(self, unit: WorkloadState, name: str, template: Manifest) -> Manifest:
        made = updated(template, flavor_update(self.configured.rules.flavors, unit.flavors.get(name, {})))
        for check in unit.checks:
            update = unit.ready[check].get(name)
            made = made if update is None else updated(made, update)
        return made

    def suspend(self, unit: WorkloadState) -> None:
        """Hold a job back again, with its templates as they were."""
        running = self.workloads.running[unit.number]
        self._change(unit, with_suspended(with_templates(running.manifest, unit.originals), suspended=True))

    def _change(self, unit: WorkloadState, manifest: Manifest) -> None:
        self._releasing = True
        self.workloads.change(unit.number, manifest)
        self._releasing = False

    def changed(self, running: Running) -> None:
        """A job that somebody scaled is another workload to Kueue: it gives its quota back, and waits anew."""
        unit = self._by_number.get(running.number)
        if unit is None or self._releasing:
            return
        found = places(running.manifest)
        is_held = unit.phase in (Phase.RESERVED, Phase.ADMITTED)
        known = unit.assigned if is_held else unit.pod_sets
        if [(each.name, each.count) for each in found] == [(each.name, each.count) for each in known]:
            return
        unit.places = [replace(each, template=unit.originals.get(each.path, each.template)) for each in found]
        unit.originals = originals_of(running.manifest, unit.places)
        unit.pod_sets = self._jobs.pod_sets(unit.places)
        unit.shape = shape(unit.pod_sets, unit.priority)
        if unit.phase is Phase.WAITING:
            self.wait(unit)
        elif is_held:
            self.leaving.leave(
                unit, "JobOutOfSync", f"No matching Workload; restoring pod templates according to {unit.key}"
            )

    def finished(self, running: Running) -> None:
        """A job is over: its quota is free."""
        super().finished(running)
        unit = self._by_number.pop(running.number, None)
        if unit is None:
            return
        self.forget(unit)
        # A job that never had pods would stay pending in the history otherwise.
        self.cluster_state.history.drop_wait(self.pods.gangs.name_of(running))

    def forget(self, unit: WorkloadState) -> None:
        """A workload is over: its quota is free."""
        del self.units[unit.key]
        self.book.remove(unit.queue, unit.key)
        if unit.queue in self.waiting:
            self.waiting[unit.queue].remove(unit.key)
        self.provisioner.forget(unit)
        if self.cluster_state.store.get(WORKLOAD, unit.namespace, unit.name) is not None:
            self.cluster_state.store.delete(WORKLOAD, unit.namespace, unit.name)
        if unit.holder is not None:
            self.wake(unit.queue)

    def left(self, pod: PodState) -> None:
        """A pod is gone: the quota of one that has done its work is free, and that of a job that left with its last."""
        super().left(pod)
        unit = self._by_number.get(pod.workload)
        if self._pod_workloads.left(pod) or unit is None or unit.holder is None:
            return
        if unit.phase is Phase.LEAVING:
            self.leaving.go_on(unit)
        elif pod.leaving == ENDED_BY_SUCCESS:
            self._reclaim(unit)
        elif unit.phase is Phase.ADMITTED:
            self.deadlines.lost(unit)

    def _reclaim(self, unit: WorkloadState) -> None:
        """Count only the pods that a Job still wants, when fewer are left to do than run at a time."""
        running = self.workloads.running[unit.number]
        if running.manifest["kind"] != "Job" or unit.holder is None or len(unit.pod_sets) != 1:
            return
        full = unit.assigned[0]
        count = min(full.count, len(running.slots) - len(running.done))
        if not 0 < count < full.count:
            return
        flavors = unit.flavors[full.name]
        usage = {(flavors[name], name): total for name, total in full.of(count).requests.items() if name in flavors}
        unit.holder = replace(unit.holder, usage=usage)
        self.book.put(unit.holder)
        self.wake(unit.queue)

    def note_waiting(self, number: int, why: str) -> None:
        """Note why a workload waits, where it changed."""
        facts = self.cluster_state.history.workloads[number]
        if why and facts.why_waiting != why:
            facts.why_waiting = why
            self.cluster_state.note("waiting", workload=number, why=why)

    def pods_of(self, unit: WorkloadState) -> list[PodState]:
        """Return the pods of a workload that are there."""
        if unit.pods:
            return [self.cluster_state.pods[uid] for uid in unit.pods if uid in self.cluster_state.pods]
        running = self.workloads.running[unit.number]
        uids = [uid for group in running.groups.values() for uid in group.pods]
        return [self.cluster_state.pods[uid] for uid in uids if uid in self.cluster_state.pods]

    def path_of(self, queue: str) -> str:
        """Return a queue with the cohorts above it, as Kueue's messages have it."""
        names = [queue]
        while (above := self.parents.get(names[-1])) is not None:
            names.append(above)
        return "/" + "/".join(reversed(names))

    def is_held_back(self, pod: PodState) -> bool:
        """Tell whether a pod has a gate of Kueue's."""
        return self._pod_workloads.is_held_back(pod)

    def job_uid(self, unit: WorkloadState) -> str:
        """Return the uid of a workload's job."""
        return unit.uid

    def job_name(self, unit: WorkloadState) -> str:
        """Return the name of a workload's job."""
        return self.cluster_state.history.workloads[unit.number].name


def _pairs(unit: WorkloadState) -> Iterator[tuple[PodSet, PodSet]]:
    """Yield what each pod set of a workload got, and what it is as a whole."""
    return zip(unit.assigned, unit.pod_sets, strict=True)


def readable(objects: List) -> Configured:
    """Return what the objects say. Raises `UnreadableError` where that cannot be reckoned with."""
    try:
        configured = read(objects)
        UsageTree(configured.rules.queues.values(), configured.rules.cohorts)
    except ValueError as wrong:
        raise UnreadableError(str(wrong)) from None
    return configured
