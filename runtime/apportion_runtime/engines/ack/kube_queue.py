"""kube-queue in the simulated cluster: suspended jobs are enqueued, and the decisions of the queues carried out.

`queueing` of the scenario selects ACK's kube-queue, as documented, or one of the public projects.

If the scenario sets `requeue`, a job whose pods do not start within that time is requeued in backoff.

Source: kube-queue/kube-queue at b9bbeb9, pkg/scheduler/scheduler.go; koordinator-sh/koord-queue at 298e9a8c,
pkg/scheduler and pkg/jobext/framework/default_job_reconciler.go (suspending and resuming jobs).
"""

from __future__ import annotations

from apportion_api.ack import names
from apportion_runtime.admission.objects import kind_of, name_of, namespace_of
from apportion_runtime.engines.base.gangs import Gangs
from apportion_runtime.kube_queue import jobs, queue_units
from apportion_runtime.kube_queue.amounts import GPU
from apportion_runtime.kube_queue.job_queue import Unit
from apportion_runtime.kube_queue.job_queues import Dequeued, JobQueues, Refused
from apportion_runtime.kube_queue.queueing import RULES
from apportion_runtime.kube_queue.queues import queue_of, settings
from apportion_runtime.kube_queue.timestamps import stamp
from apportion_runtime.kube_queue.tree import Tree
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.object_store import Conflict
from apportion_runtime.sim.controllers.job_events import JobChanged
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.snapshots.pod_requests import pod_requests, total

_UNIT = queue_units.KIND


class KubeQueue:
    """The queues of a tree.

    Args:
        cluster_state: The simulated cluster.
        tree: The quotas.
        gangs: Gives the group names of jobs.
    """

    def __init__(self, cluster_state: ClusterState, tree: Tree, gangs: Gangs) -> None:
        self._cluster_state = cluster_state
        self._tree = tree
        self._gangs = gangs
        queueing = cluster_state.queueing
        known, missing = settings(tree, cluster_state.store.list("Queue"), queueing)
        for made in missing:
            cluster_state.store.create(made)
        self.job_queues = JobQueues(tree, known.values(), RULES[queueing], cluster_state.clock.start)
        self._observed: dict[int, Unit] = {}
        self.asked: dict[str, int] = dict.fromkeys(tree.quotas, 0)
        """GPUs requested by queued jobs, by quota, including its descendants."""
        self.touched: dict[str, None] = {}
        """The quotas whose usage changed; the reader clears it."""

    def begin(self, workloads: Workloads) -> None:
        """Set the workloads, which suspend and resume jobs."""
        self._workloads = workloads

    def add_job(self, running: Running) -> None:
        """Enqueue a new job if it is suspended and of a supported kind."""
        if not running.is_suspended:
            return
        cluster_state, job = self._cluster_state, running.manifest
        path = self._tree.quota_of(job)
        if not jobs.is_known(job):
            self._never(
                running, f"kube-queue does not support {'/'.join(filter(None, kind_of(job)))}: the job stays suspended"
            )
            return
        if path is None:
            self._never(running, "the job doesn't belong to any elastic quota")
            return
        quota = self._tree.quotas[path]
        try:
            name = queue_of(job, quota, self.job_queues.settings, cluster_state.store.list("Queue"))
        except ValueError as refused:
            self._never(running, str(refused))
            return
        running.manifest = cluster_state.store.update(jobs.enqueueing(self._stamp()).applied(job))
        unit = Unit(
            job=running.number,
            name=jobs.unit_name(job),
            namespace=namespace_of(job),
            quota=path,
            demand=jobs.demand(job),
            priority=jobs.priority(job, cluster_state.store),
            preemptible=jobs.is_preemptible(job),
            since=cluster_state.now,
        )
        try:
            cluster_state.store.create(queue_units.unit_object(running.manifest, unit, name))
        except Conflict as there:
            self._never(running, str(there))
            return
        self.job_queues.put(name, unit)
        self._ask(unit, 1)
        group = self._gangs.name_of(running)
        cluster_state.history.begin_wait(
            group, unit.job, cluster_state.history.workloads[unit.job].queue, cluster_state.elapsed_s
        )
        cluster_state.note("enqueued", workload=unit.job, why=self._place(unit))
        cluster_state.request_cycle()

    def observe(self, running: Running) -> None:
        """Charge the quota of a snapshot's job that has pods: it was dequeued before."""
        path = self._tree.quota_of(running.manifest)
        kind = self._cluster_state.history.workloads[running.number].kind
        if path is None or not jobs.is_known_kind(kind):
            return
        demand = total(pod_requests(slot.spec) for slot in running.slots.values())
        preemptible = jobs.is_preemptible(running.manifest)
        unit = Unit(running.number, "", namespace_of(running.manifest), path, demand, 0, preemptible, 0.0)
        self._observed[running.number] = unit
        self.job_queues.accounts.reserve(path, demand, preemptible=preemptible)

    def _never(self, running: Running, why: str) -> None:
        cluster_state = self._cluster_state
        facts = cluster_state.history.workloads[running.number]
        facts.why_waiting = why
        cluster_state.history.begin_wait(
            self._gangs.name_of(running), running.number, facts.queue, cluster_state.elapsed_s
        )
        cluster_state.note("waiting", workload=running.number, why=why)

    def run_cycle(self) -> None:
        """Dequeue the jobs that fit into their quotas."""
        self._take_back()
        for decision in self.job_queues.run(self._cluster_state.now):
            match decision:
                case Refused():
                    self._refuse(decision)
                case Dequeued():
                    self._release(decision)
        self._publish()
        self._wake_in_time()

    def _refuse(self, decision: Refused) -> None:
        unit, why = decision.unit, decision.why
        facts = self._cluster_state.history.workloads[unit.job]
        if facts.why_waiting != why:
            facts.why_waiting = why
            self._cluster_state.note("backoff", workload=unit.job, why=f"{why}; {self._place(unit)}")
        self._set_phase(unit, "Enqueued", why)

    def _release(self, decision: Dequeued) -> None:
        cluster_state, unit = self._cluster_state, decision.unit
        self._ask(unit, -1)
        self._set_phase(unit, "Dequeued", "Dequeued because schedule successfully")
        cluster_state.history.workloads[unit.job].end_waiting()
        cluster_state.note("dequeued", workload=unit.job, why=f"from queue {decision.queue.name}")
        running = self._workloads.running[unit.job]
        self._workloads.change(unit.job, jobs.resumption(running.manifest, self._stamp()).applied(running.manifest))

    def _take_back(self) -> None:
        """Requeue jobs whose pods did not start in time."""
        cluster_state, limit = self._cluster_state, self._cluster_state.timing.requeue_s
        if limit is None:
            return
        for number, held in list(self.job_queues.held.items()):
            if held.since + limit > cluster_state.now or self._has_run(number):
                continue
            refused = self.job_queues.requeue(number, cluster_state.now)
            self._ask(refused.unit, 1)
            self._set_phase(refused.unit, "Backoff", refused.why)
            cluster_state.note("requeued", workload=number, why=f"{refused.why}; {self._place(refused.unit)}")
            job = self._workloads.running[number].manifest
            self._workloads.change(number, jobs.suspension(job).applied(job))

    def _has_run(self, number: int) -> bool:
        return self._cluster_state.history.workloads[number].started_s is not None

    def finished(self, running: Running) -> None:
        """Remove a finished job from its queue, or release its quota."""
        number = running.number
        observed = self._observed.pop(number, None)
        if observed is not None:
            self.job_queues.give_back(observed, self._cluster_state.now)
            self._cluster_state.request_cycle()
            return
        is_queued, held = self.job_queues.queue_of(number) is not None, self.job_queues.held.pop(number, None)
        if running.is_suspended:
            self._cluster_state.history.drop_wait(self._gangs.name_of(running))
        if is_queued:
            self._ask(self.job_queues.drop(number, self._cluster_state.now), -1)
        if held is not None:
            self.job_queues.give_back(held.unit, self._cluster_state.now)
        if is_queued or held is not None:
            self._cluster_state.store.delete(_UNIT, namespace_of(running.manifest), jobs.unit_name(running.manifest))
            self._cluster_state.request_cycle()

    def change(self, event: JobChanged) -> None:
        """Change the priority of a queued job's QueueUnit."""
        cluster_state = self._cluster_state
        number = next(
            (
                number
                for number in self.job_queues.queued
                if self._is_named(self._workloads.running[number], event.namespace, event.name)
            ),
            None,
        )
        queue = None if number is None else self.job_queues.queue_of(number)
        if number is None or queue is None:
            why = f"{event.namespace}/{event.name} is not queued; the priority of a dequeued job cannot be changed"
            cluster_state.note("priority-refused", why=why)
            return
        before = queue.units[number].priority
        unit = self.job_queues.change_priority(number, event.priority, cluster_state.now)
        what = "jumped" if event.priority is None else "priority"
        rank = sorted(map(queue.rank, queue.units.values())).index(queue.rank(unit)) + 1
        move = f"from {before} to {unit.priority}, rank {rank} of {len(queue.units)}; {self._place(unit)}"
        cluster_state.note(what, workload=number, why=move)
        made = cluster_state.store.get(_UNIT, unit.namespace, unit.name)
        assert made is not None
        cluster_state.store.update({**made, "spec": {**made["spec"], "priority": unit.priority}})
        cluster_state.request_cycle()

    @staticmethod
    def _is_named(running: Running, namespace: str, name: str) -> bool:
        return (namespace_of(running.manifest), name_of(running.manifest)) == (namespace, name)

    def _ask(self, unit: Unit, sign: int) -> None:
        gpus = unit.demand.get(GPU, 0)
        if gpus:
            for each in self._tree.upward(unit.quota):
                self.asked[each.path] += sign * gpus
                self.touched[each.path] = None

    def _place(self, unit: Unit) -> str:
        return self.job_queues.place(unit, self._cluster_state.now)

    def _stamp(self) -> str:
        return stamp(self._cluster_state.clock.start, self._cluster_state.elapsed_s)

    def _set_phase(self, unit: Unit, phase: str, message: str) -> None:
        status = {"phase": phase, "message": message, "lastUpdateTime": self._cluster_state.clock.text}
        self._cluster_state.store.patch_status(_UNIT, unit.namespace, unit.name, status)

    def _publish(self) -> None:
        """Write the positions of jobs into the status of queues that changed."""
        for name in self.job_queues.changed:
            details = {"queueItemDetails": self.job_queues.queues[name].details()}
            self._cluster_state.store.patch_status("Queue", names.QUEUE_NAMESPACE, name, details)
        self.job_queues.changed.clear()

    def _wake_in_time(self) -> None:
        cluster_state = self._cluster_state
        waking = self.job_queues.wakes_at()
        moments = [] if waking is None else [waking]
        if cluster_state.timing.requeue_s is not None:
            moments += [
                held.since + cluster_state.timing.requeue_s
                for number, held in self.job_queues.held.items()
                if not self._has_run(number)
            ]
        at = min(moments, default=None)
        if at is not None:
            cluster_state.request_cycle(at)
