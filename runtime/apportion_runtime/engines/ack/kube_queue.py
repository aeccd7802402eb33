"""kube-queue: suspended jobs are enqueued in the queue of their quota, and dequeued when the quota has room.

Queues take turns by priority, one job each, until no job is left to try. A dequeued job holds its quota until it
finishes. If the scenario sets `requeue`, a job whose pods do not start within that time is requeued in backoff.

Source: kube-queue/kube-queue at b9bbeb9, pkg/scheduler/scheduler.go; koordinator-sh/koord-queue at 298e9a8c,
pkg/scheduler and pkg/jobext/framework/default_job_reconciler.go (suspending and resuming jobs).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apportion_api.ack import names
from apportion_runtime.admission.objects import kind_of, name_of, namespace_of
from apportion_runtime.engines.ack import jobs
from apportion_runtime.engines.ack.amounts import GPU
from apportion_runtime.engines.ack.job_queue import JobQueue, Policy, Unit
from apportion_runtime.engines.ack.queues import queue_of, settings
from apportion_runtime.engines.ack.quota_accounts import QuotaAccounts
from apportion_runtime.engines.ack.timestamps import stamp
from apportion_runtime.engines.ack.tree import Tree
from apportion_runtime.engines.base.gangs import Gangs
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.object_store import Conflict
from apportion_runtime.sim.api.pod_requests import pod_requests, total
from apportion_runtime.sim.controllers.job_events import JobChanged
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads

_UNIT = "QueueUnit"


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
        known, missing = settings(tree, cluster_state.store.list("Queue"))
        for made in missing:
            cluster_state.store.create(made)
        ranks = {path: number for number, path in enumerate(tree.quotas)}
        order = sorted(known.values(), key=lambda each: (-each.priority, ranks.get(each.quota, len(ranks)), each.name))
        self.queues = {each.name: JobQueue(each) for each in order}
        self.accounts = QuotaAccounts(tree)
        self._queue_of: dict[int, JobQueue] = {}
        self._let_go: dict[int, tuple[Unit, JobQueue, float]] = {}
        """The dequeued jobs, with their queue and the time."""
        self._observed: dict[int, Unit] = {}
        self._changed: dict[str, None] = {}
        self._ranks = {name: number for number, name in enumerate(self.queues)}
        self._busy: dict[str, JobQueue] = {}
        """The non-empty queues, in the order in which they take turns."""
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
            name = queue_of(job, quota, (q.settings for q in self.queues.values()), cluster_state.store.list("Queue"))
        except ValueError as refused:
            self._never(running, str(refused))
            return
        running.manifest = cluster_state.store.update(jobs.noted(job, {names.ENQUEUED_AT_ANNOTATION: self._stamp()}))
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
            cluster_state.store.create(_unit_object(running, unit, name))
        except Conflict as there:
            self._never(running, str(there))
            return
        self._put(self.queues[name], unit)
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
        self.accounts.reserve(path, demand, preemptible=preemptible)

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
        would_fail_again = self.accounts.would_fail_again
        for queue in self._busy.values():
            queue.catch_up(self._cluster_state.now, would_fail_again)
            if queue.wake(self._cluster_state.now, would_fail_again):
                self._note_change(queue)
        tried = {name: iter(queue.active()) for name, queue in self._busy.items()}
        while tried:
            for name in list(tried):
                queue = self.queues[name]
                unit = queue.next() if queue.settings.policy is Policy.BLOCK else next(tried[name], None)
                if unit is None:
                    del tried[name]
                else:
                    self._try(queue, unit)
        self._publish()
        self._wake_in_time()

    def _try(self, queue: JobQueue, unit: Unit) -> None:
        refusal = self.accounts.refusal(unit.quota, unit.demand, preemptible=unit.preemptible)
        if refusal is None:
            self._release(queue, unit)
            return
        at, why = refusal
        refused = queue.refuse(unit.job, self._cluster_state.now, at, self.accounts.n_given.get(at, 0))
        self._note_change(queue)
        facts = self._cluster_state.history.workloads[unit.job]
        if facts.why_waiting != why:
            facts.why_waiting = why
            self._cluster_state.note("backoff", workload=unit.job, why=f"{why}; {self._place(refused)}")
        self._set_phase(unit, "Enqueued", why)

    def _release(self, queue: JobQueue, unit: Unit) -> None:
        cluster_state = self._cluster_state
        self._drop(queue, unit.job)
        self.accounts.reserve(unit.quota, unit.demand, preemptible=unit.preemptible)
        self._let_go[unit.job] = (unit, queue, cluster_state.now)
        self._set_phase(unit, "Dequeued", "Dequeued because schedule successfully")
        cluster_state.history.workloads[unit.job].end_waiting()
        cluster_state.note("dequeued", workload=unit.job, why=f"from queue {queue.settings.name}")
        running = self._workloads.running[unit.job]
        self._workloads.change(unit.job, jobs.resumed(running.manifest, self._stamp()))

    def _take_back(self) -> None:
        """Requeue jobs whose pods did not start in time."""
        cluster_state, limit = self._cluster_state, self._cluster_state.timing.requeue_s
        if limit is None:
            return
        for number, (unit, queue, since) in list(self._let_go.items()):
            if since + limit > cluster_state.now or self._has_run(number):
                continue
            del self._let_go[number]
            self._put(queue, unit)
            refused = queue.refuse(number, cluster_state.now, "", 0)
            self._give_back(unit)
            self._set_phase(refused, "Backoff", "Backoff due to running timeout")
            cluster_state.note(
                "requeued", workload=number, why=f"Backoff due to running timeout; {self._place(refused)}"
            )
            self._workloads.change(number, jobs.suspended(self._workloads.running[number].manifest))

    def _has_run(self, number: int) -> bool:
        return self._cluster_state.history.workloads[number].started_s is not None

    def finished(self, running: Running) -> None:
        """A job has finished: remove it from its queue, or release its quota."""
        number = running.number
        observed = self._observed.pop(number, None)
        if observed is not None:
            self._give_back(observed)
            self._cluster_state.request_cycle()
            return
        queue, held = self._queue_of.get(number), self._let_go.pop(number, None)
        if running.is_suspended:
            self._cluster_state.history.drop_wait(self._gangs.name_of(running))
        if queue is not None:
            self._drop(queue, number)
        if held is not None:
            self._give_back(held[0])
        if queue is not None or held is not None:
            self._cluster_state.store.delete(_UNIT, namespace_of(running.manifest), jobs.unit_name(running.manifest))
            self._cluster_state.request_cycle()

    def _give_back(self, unit: Unit) -> None:
        for queue in self._busy.values():
            queue.catch_up(self._cluster_state.now, self.accounts.would_fail_again)
        self.accounts.unreserve(unit.quota, unit.demand, preemptible=unit.preemptible)
        for queue in self._busy.values():
            if queue.given_back(self.accounts.would_fail_again):
                self._note_change(queue)

    def change(self, event: JobChanged) -> None:
        """Change the priority of a queued job's QueueUnit."""
        cluster_state = self._cluster_state
        number = next(
            (
                number
                for number in self._queue_of
                if self._is_named(self._workloads.running[number], event.namespace, event.name)
            ),
            None,
        )
        if number is None:
            why = f"{event.namespace}/{event.name} is not queued; the priority of a dequeued job cannot be changed"
            cluster_state.note("priority-refused", why=why)
            return
        queue = self._queue_of[number]
        queue.catch_up(cluster_state.now, self.accounts.would_fail_again)
        before = queue.units[number]
        if event.priority is None:
            unit = queue.jump(number)
        else:
            unit = replace(before, priority=event.priority)
            queue.put(unit)
        self._note_change(queue)
        what = "jumped" if event.priority is None else "priority"
        rank = sorted(each.rank for each in queue.units.values()).index(unit.rank) + 1
        move = f"from {before.priority} to {unit.priority}, rank {rank} of {len(queue.units)}; {self._place(unit)}"
        cluster_state.note(what, workload=number, why=move)
        made = cluster_state.store.get(_UNIT, unit.namespace, unit.name)
        assert made is not None
        cluster_state.store.update({**made, "spec": {**made["spec"], "priority": unit.priority}})
        cluster_state.request_cycle()

    @staticmethod
    def _is_named(running: Running, namespace: str, name: str) -> bool:
        return (namespace_of(running.manifest), name_of(running.manifest)) == (namespace, name)

    def _put(self, queue: JobQueue, unit: Unit) -> None:
        queue.put(unit)
        self._queue_of[unit.job] = queue
        self._note_change(queue)
        self._ask(unit, 1)
        if queue.settings.name not in self._busy:
            busy = {**self._busy, queue.settings.name: queue}
            self._busy = {name: busy[name] for name in sorted(busy, key=self._ranks.__getitem__)}

    def _drop(self, queue: JobQueue, number: int) -> None:
        unit = queue.drop(number)
        assert unit is not None
        del self._queue_of[number]
        self._note_change(queue)
        self._ask(unit, -1)
        if not queue.units:
            del self._busy[queue.settings.name]

    def _ask(self, unit: Unit, sign: int) -> None:
        gpus = unit.demand.get(GPU, 0)
        if gpus:
            for each in self._tree.upward(unit.quota):
                self.asked[each.path] += sign * gpus
                self.touched[each.path] = None

    def _place(self, unit: Unit) -> str:
        queue = self._queue_of[unit.job]
        if unit.silent_until is None:
            position = [each.job for each in queue.active()].index(unit.job) + 1
            return f"position {position} in queue {queue.settings.name}"
        position = [each.job for each in queue.silent()].index(unit.job) + 1
        wait = unit.silent_until - self._cluster_state.now
        return f"position {position} in the backoff of queue {queue.settings.name} for {wait:g}s"

    def _stamp(self) -> str:
        return stamp(self._cluster_state.clock.start, self._cluster_state.elapsed_s)

    def _set_phase(self, unit: Unit, phase: str, message: str) -> None:
        status = {"phase": phase, "message": message, "lastUpdateTime": self._cluster_state.clock.text}
        self._cluster_state.store.patch_status(_UNIT, unit.namespace, unit.name, status)

    def _note_change(self, queue: JobQueue) -> None:
        self._changed[queue.settings.name] = None

    def _publish(self) -> None:
        """Write the positions of jobs into the status of queues that changed."""
        for name in self._changed:
            details = {"queueItemDetails": self.queues[name].details()}
            self._cluster_state.store.patch_status("Queue", names.QUEUE_NAMESPACE, name, details)
        self._changed.clear()

    def _wake_in_time(self) -> None:
        cluster_state = self._cluster_state
        moments = [
            at for queue in self._busy.values() if (at := queue.wakes_at(self.accounts.would_fail_again)) is not None
        ]
        if cluster_state.timing.requeue_s is not None:
            moments += [
                since + cluster_state.timing.requeue_s
                for number, (_, _, since) in self._let_go.items()
                if not self._has_run(number)
            ]
        at = min(moments, default=None)
        if at is not None:
            cluster_state.request_cycle(at)


def _unit_object(running: Running, unit: Unit, queue: str) -> dict[str, Any]:
    job = running.manifest
    reference = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": name_of(job)}
    return {
        "apiVersion": names.QUEUE_API,
        "kind": _UNIT,
        "metadata": {
            "name": unit.name,
            "namespace": unit.namespace,
            "labels": dict(job["metadata"].get("labels") or {}),
            "ownerReferences": [{**reference, "uid": job["metadata"]["uid"]}],
        },
        "spec": {
            "consumerRef": {**reference, "namespace": unit.namespace},
            "queue": queue,
            "priority": unit.priority,
            "resource": {name: f"{value}m" if name == "cpu" else str(value) for name, value in unit.demand.items()},
        },
        "status": {"phase": "Enqueued", "message": "Enqueued"},
    }
