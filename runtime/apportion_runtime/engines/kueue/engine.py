"""Kueue in the simulated cluster: jobs are suspended, and their workloads wait in queues until quota is reserved.

Each call runs Kueue's cycles until one changes nothing, and then a cycle of kube-scheduler, which places the released
pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from apportion_api.kueue.names import PRIORITY_CLASS_LABEL, WORKLOAD
from apportion_runtime.admission.expansion import is_observed
from apportion_runtime.admission.objects import kind_of, labels_of
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.base.engine import PlainEngine
from apportion_runtime.engines.kube_scheduler import KubeScheduler, PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import KIND, known_profiles
from apportion_runtime.engines.kueue.deadlines import Deadlines
from apportion_runtime.engines.kueue.jobs import Jobs
from apportion_runtime.engines.kueue.last_cycle import LastCycle, Repetition
from apportion_runtime.engines.kueue.object_reader import Configured, List, read, selects, unmodelled
from apportion_runtime.engines.kueue.observed_workloads import take_over
from apportion_runtime.engines.kueue.pending_queue import PendingQueue
from apportion_runtime.engines.kueue.pending_queues import BackoffEnds, PendingQueues
from apportion_runtime.engines.kueue.pod_sets import (
    originals_of,
    pod_set_templates,
    shape,
)
from apportion_runtime.engines.kueue.pod_workloads import PodWorkloads
from apportion_runtime.engines.kueue.preemption import PreemptionSnapshot
from apportion_runtime.engines.kueue.provisioner import Provisioner
from apportion_runtime.engines.kueue.queue_samples import QueueSamples
from apportion_runtime.engines.kueue.quota_holders import QuotaHolders
from apportion_runtime.engines.kueue.quota_release import QuotaRelease
from apportion_runtime.engines.kueue.quota_reservation import reclaim_completed, reserve_quota
from apportion_runtime.engines.kueue.records import Pending, Queue
from apportion_runtime.engines.kueue.scheduling_cycle import Entry, Outcome, futile_assignment, run_cycle
from apportion_runtime.engines.kueue.usage_tree import UsageTree
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState, workload_object
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.object_store import Change
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Handlers, UnreadableError
from apportion_runtime.sim.history import ENDED_BY_SUCCESS
from apportion_runtime.sim.provisioning.autoscaler import Autoscaler
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.provisioning.request_consumers import CONSUMES
from apportion_runtime.sim.scenario.format import Manifest

# With this limit, all recorded timelines of Kueue agree.
_MOST_PREEMPTIONS = 10


class Kueue(PlainEngine):
    """The Kueue engine, with kube-scheduler and the provider's autoscaler.

    Attributes:
        units: The managed workloads, by namespace and name of the Workload.
        holders: The workloads with reserved quota.
        pending: The pending workloads, by ClusterQueue.
        has_changed: Whether the queues' samples are out of date.
        samples: The GPUs of the queues.
    """

    name = "kueue"

    def __init__(self, cluster_state: ClusterState) -> None:
        super().__init__(cluster_state)
        self.configured: Configured = readable(cluster_state.store.list)
        cluster_state.records.faults.extend(unmodelled(cluster_state.store.list))
        self._jobs = Jobs(cluster_state.store, lambda: self.configured)
        self.pod_workloads = PodWorkloads(self, self._jobs)
        self.units: dict[str, WorkloadState] = {}
        self._by_number: dict[int, WorkloadState] = {}
        queues = self.configured.rules.queues.values()
        self.pending = PendingQueues(cluster_state, queues, lambda: self.parents, self._selects)
        self.holders = QuotaHolders(queues, self.configured.rules.cohorts)
        self.has_changed = True
        self.samples = QueueSamples(self)
        self._last_cycle = LastCycle()
        self._preempted: Counter[str] = Counter()
        self._selected: dict[tuple[int, str], bool] = {}
        self._is_changing_job = False
        self._profiles = known_profiles(cluster_state.store.list(KIND))

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The Cohort of each ClusterQueue and Cohort."""
        return self.configured.parents

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        super().begin(workloads, pools)
        self._scheduler = KubeScheduler(self.cluster_state, workloads, self.pods.facts, self._profiles)
        self.leaving = QuotaRelease(self)
        self.deadlines = Deadlines(self)
        self.cluster_state.store.watch("LocalQueue", self._queue_changed)
        self.cluster_state.store.watch("Namespace", lambda _: self._selected.clear())

    def make_autoscaler(self) -> Autoscaler:
        """Return the autoscaler that handles ProvisioningRequests and notifies Kueue."""
        self.provisioner = Provisioner(self)
        return Autoscaler(
            self.cluster_state,
            self.workloads,
            self.pools.pools,
            on_answer=self.provisioner.answered,
            owner=self.provisioner.owner,
        )

    def handlers(self) -> Handlers:
        """Return the handlers of its events."""
        return {**super().handlers(), **self.pending.handlers(), **self.deadlines.handlers()}

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is stored: suspended or gated if Kueue manages it, and with the node restrictions of pods."""
        held = self._jobs.held_back(made)
        if kind_of(held) == ("", "Pod"):
            self.pod_workloads.check_group(held)
        return super().admit(held)

    def made(self, running: Running) -> None:
        """Create the Workload of a job, and queue it."""
        job = running.manifest
        self.cluster_state.history.workloads[running.number].queue = ""
        if is_observed(job):
            take_over(self, running)
            return
        unit = self._jobs.unit(running.number, job, pod_set_templates(job)) if self._jobs.manages(job) else None
        if unit is None:
            return
        if isinstance(unit, str):
            self.note_waiting(running.number, unit)
            return
        self.units[unit.key] = self._by_number[running.number] = unit
        self.cluster_state.history.workloads[running.number].queue = unit.queue
        self.cluster_state.store.create(workload_object(job, unit, labels_of(job).get(PRIORITY_CLASS_LABEL, "")))
        self.cluster_state.note("queued", workload=running.number, why=f"Created Workload: {unit.key}")
        self.wait(unit)

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Parse a new pod; a gated pod is a separate workload, or waits for the other pods of its group."""
        record = super().add_pod(running, made)
        self.pod_workloads.add(running, made)
        return record

    def adopt(self, unit: WorkloadState) -> None:
        """Manage an observed workload, with the quota that it has reserved."""
        self.units[unit.key] = self._by_number[unit.number] = unit
        self.cluster_state.history.workloads[unit.number].queue = unit.queue
        self.samples.changed(unit)
        if unit.holder is not None and unit.queue in self.configured.rules.queues:
            self.holders.put(unit.holder)

    def wait(self, unit: WorkloadState) -> None:
        """Queue a workload, not before the end of its backoff."""
        cluster_state = self.cluster_state
        unit.phase, self.has_changed = Phase.WAITING, True
        self.samples.changed(unit)
        if not unit.pods:
            gang = self.pods.gangs.name_of(self.workloads.running[unit.number])
            cluster_state.history.begin_wait(gang, unit.number, unit.queue, cluster_state.elapsed_s)
        if unit.queue not in self.pending:
            missing = (
                f"LocalQueue {unit.local_queue} doesn't exist"
                if not unit.queue
                else f"ClusterQueue {unit.queue} doesn't exist"
            )
            self.note_waiting(unit.number, missing)
            return
        self.pending.push(unit.pending(), unit.not_before)

    def queue_inadmissible(self, queue: str) -> None:
        """Reconsider the workloads of a queue's whole cohort: quota may be free."""
        self.has_changed = True
        self.pending.queue_inadmissible(queue)

    def _queue_changed(self, change: Change) -> None:
        """A LocalQueue was created: its workloads can be queued."""
        if change.what != "added":
            return
        self.configured = readable(self.cluster_state.store.list)
        self._selected.clear()
        for unit in self.units.values():
            if not unit.queue:
                unit.queue = self.configured.local_queues.get((unit.namespace, unit.local_queue), "")
                self.wait(unit)

    def run_cycle(self) -> None:
        """Admit workloads, and place their pods."""
        self.cluster_state.history.n_cycles += 1
        self._run_cycles()
        waiting = self.pods.waiting()
        unplaced = self._scheduler.run_cycle([pod for pod in waiting if self._scheduler.is_mine(pod.record)])
        for each in unplaced:
            self.explain(each.pod, each.why)
        for pod in waiting:
            if not self._scheduler.is_mine(pod.record):
                self.explain(pod, f"scheduler {pod.record.scheduler} does not exist")
        self.grow(each.pod for each in unplaced if not self._consumes(each.pod))
        if self.has_changed:
            self.samples.record()
            self.has_changed = False

    def _consumes(self, pod: PodFacts) -> bool:
        state = self.cluster_state.pods[pod.uid]
        made = self.cluster_state.store.get("Pod", state.namespace, state.name)
        annotations = {} if made is None else made["metadata"].get("annotations") or {}
        return any(key in annotations for key in CONSUMES)

    def _run_cycles(self) -> None:
        """Run cycles of Kueue until they repeat."""
        repetition = Repetition()
        self._preempted.clear()
        # The history notes the reasons of a cycle in the order in which Kueue processes its heads.
        may_skip = not self.cluster_state.history.keeps_facts
        while True:
            situation = self.holders.situation(self.cluster_state.now)
            heads, has_failed = self.pending.heads(partial(self._fails, situation) if may_skip else None)
            if not heads and not has_failed:
                return
            has_changed = (bool(heads) and self._run_cycle(heads, situation)) or has_failed
            self.has_changed = self.has_changed or has_changed
            if repetition.begins(heads, has_changed=has_changed):
                return
            if _MOST_PREEMPTIONS in self._preempted.values():
                # Workloads that preempt each other before their pods exist would do so forever. Kueue's cycles take time.
                self.cluster_state.events.plan(self.cluster_state.now + 1.0, BackoffEnds())
                return
            if not has_changed and self._last_cycle.repeats(self.holders.version):
                return

    def _fails(self, situation: PreemptionSnapshot, queue: PendingQueue, head: Pending) -> bool:
        """Make a head inadmissible if it fails for certain, and return whether it does."""
        if self._last_cycle.has(head, self.holders.version):
            return False
        rules = self.configured.rules
        assignment = futile_assignment(rules, situation, head)
        if assignment is None or self._refusal(head, rules.queues[head.queue]):
            return False
        queue.fail(head.tried(situation.generations.get(head.queue, 0), assignment.next_flavor))
        unit = self.units[head.key]
        unit.message = assignment.message
        self.note_waiting(unit.number, assignment.message)
        return True

    def _run_cycle(self, heads: Sequence[Pending], situation: PreemptionSnapshot) -> bool:
        """Run one cycle of Kueue; return whether it changed more than the flavors at which heads continue."""
        rules, version = self.configured.rules, self.holders.version
        is_refused = any(self._refusal(head, rules.queues[head.queue]) for head in heads)
        entries = None if is_refused else self._last_cycle.entries_for(rules, version, heads)
        if entries is not None and self._last_cycle.repeats(version):
            # The heads keep their places, for the same reasons.
            for entry in entries:
                self.note_waiting(self.units[entry.workload.key].number, entry.message)
            return False
        self.pending.take(heads)
        if entries is None:
            entries = run_cycle(rules, heads, situation, refuses=self._refusal)
            # Without the time of a reservation, decisions depend on the time of the cycle; refusals depend on namespaces.
            holds = situation.kept_order is not None and not is_refused
            self._last_cycle = LastCycle(rules, version, heads, entries) if holds else LastCycle()
        has_changed = False
        for entry in entries:
            has_changed = self._apply(entry) or has_changed
        self.pending.queue_inadmissible_of_freed()
        return has_changed

    def _refusal(self, workload: Pending, queue: Queue) -> str:
        if queue.inactive_because:
            return f"ClusterQueue {queue.name} is inactive: {queue.inactive_because}"
        return "" if self._selects(queue, workload) else "Workload namespace doesn't match ClusterQueue selector"

    def _selects(self, queue: Queue, workload: Pending) -> bool:
        key = id(queue), workload.namespace
        found = self._selected.get(key)
        if found is None:
            found = self._selected[key] = selects(queue.selector, self._jobs.labels_of(workload.namespace))
        return found

    def _apply(self, entry: Entry) -> bool:
        """Carry out the decision about a head; return whether it changed anything, or the head is inadmissible now."""
        unit = self.units[entry.workload.key]
        if entry.outcome is Outcome.RESERVED:
            reserve_quota(self, unit, entry)
            return True
        is_new = False
        if entry.outcome is Outcome.PREEMPTING:
            for target in entry.targets:
                if self.leaving.preempt(self.units[target.holder.key], unit, target.reason):
                    self._preempted[target.holder.key] += 1
                    is_new = True
        unit.message = entry.message
        self.note_waiting(unit.number, entry.message)
        queue = self.pending[unit.queue]
        queue.requeue(entry.again(), entry.why)
        return is_new or not queue.is_waiting(unit.key)

    def change_job(self, unit: WorkloadState, manifest: Manifest) -> None:
        """Start or stop the job of a workload, without handling this as a change by its owner."""
        self._is_changing_job = True
        self.workloads.change(unit.number, manifest)
        self._is_changing_job = False

    def changed(self, running: Running) -> None:
        """Release the quota of a scaled job, and queue it again: Kueue treats it as a different workload."""
        unit = self._by_number.get(running.number)
        if unit is None or self._is_changing_job:
            return
        found = pod_set_templates(running.manifest)
        is_held = unit.phase in (Phase.RESERVED, Phase.ADMITTED)
        known = unit.assigned if is_held else unit.pod_sets
        if [(each.name, each.count) for each in found] == [(each.name, each.count) for each in known]:
            return
        unit.pod_set_templates = [
            replace(each, template=unit.originals.get(each.path, each.template)) for each in found
        ]
        unit.originals = originals_of(running.manifest, unit.pod_set_templates)
        unit.pod_sets = self._jobs.pod_sets(unit.pod_set_templates)
        unit.shape = shape(unit.pod_sets, unit.priority)
        self.samples.changed(unit)
        if unit.phase is Phase.WAITING:
            self.wait(unit)
        elif is_held:
            self.leaving.leave(
                unit, "JobOutOfSync", f"No matching Workload; restoring pod templates according to {unit.key}"
            )

    def finished(self, running: Running) -> None:
        """Release the quota of a finished job."""
        super().finished(running)
        unit = self._by_number.pop(running.number, None)
        if unit is None:
            return
        self.forget(unit)
        # Without this, a job that never had pods would stay pending in the history.
        self.cluster_state.history.drop_wait(self.pods.gangs.name_of(running))

    def forget(self, unit: WorkloadState) -> None:
        """Release the quota of a finished workload."""
        del self.units[unit.key]
        self.samples.changed(unit)
        self.holders.remove(unit.queue, unit.key)
        self.pending.remove(unit.queue, unit.key)
        self.provisioner.forget(unit)
        if self.cluster_state.store.get(WORKLOAD, unit.namespace, unit.name) is not None:
            self.cluster_state.store.delete(WORKLOAD, unit.namespace, unit.name)
        if unit.holder is not None:
            self.queue_inadmissible(unit.queue)

    def left(self, pod: PodState) -> None:
        """Release the quota of a completed pod, or of an evicted job with its last pod."""
        super().left(pod)
        unit = self._by_number.get(pod.workload)
        if self.pod_workloads.left(pod) or unit is None or unit.holder is None:
            return
        if unit.phase is Phase.LEAVING:
            self.leaving.free_quota(unit)
        elif pod.leaving == ENDED_BY_SUCCESS:
            reclaim_completed(self, unit)
        elif unit.phase is Phase.ADMITTED:
            self.deadlines.lost(unit)

    def note_waiting(self, number: int, why: str) -> None:
        """Record why a workload waits, if the reason changed."""
        if why:
            self.cluster_state.note_wait(number, why)

    def pods_of(self, unit: WorkloadState) -> list[PodState]:
        """Return the existing pods of a workload."""
        if unit.pods:
            return [self.cluster_state.pods[uid] for uid in unit.pods if uid in self.cluster_state.pods]
        running = self.workloads.running[unit.number]
        uids = [uid for group in running.groups.values() for uid in group.pods]
        return [self.cluster_state.pods[uid] for uid in uids if uid in self.cluster_state.pods]


def readable(objects: List) -> Configured:
    """Return the configuration from the objects. Raises `UnreadableError` if it is not supported."""
    try:
        configured = read(objects)
        UsageTree(configured.rules.queues.values(), configured.rules.cohorts)
    except ValueError as wrong:
        raise UnreadableError(str(wrong)) from None
    return configured
