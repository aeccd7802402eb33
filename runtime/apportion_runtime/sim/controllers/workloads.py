"""The workload controllers: create pods and their owners, replace lost pods, scale, and clean up."""

from __future__ import annotations

from collections.abc import Callable

from apportion_api.kai.names import QUEUE_LABEL
from apportion_runtime.admission.expansion import Ending, PodReplacement, Slot, expand, is_suspended
from apportion_runtime.admission.objects import GroupingError, kind_of, labels_of, name_of, namespace_of
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.object_store import Conflict
from apportion_runtime.sim.controllers.cluster_retention import ClusterExpires, retention_s
from apportion_runtime.sim.controllers.cron_jobs import CronJobs
from apportion_runtime.sim.controllers.gpu_requests import gpus_of
from apportion_runtime.sim.controllers.group_waits import note_placement, note_stop
from apportion_runtime.sim.controllers.job_submission import wants_last
from apportion_runtime.sim.controllers.planned_changes import plan_changes
from apportion_runtime.sim.controllers.pod_creation import create_children, create_pod, note_pod, plan_retry, pod_object
from apportion_runtime.sim.controllers.progress import part_of
from apportion_runtime.sim.controllers.replica_counts import scale_objects
from apportion_runtime.sim.controllers.running_workload import Group, Running
from apportion_runtime.sim.controllers.work_rate import WorkRate
from apportion_runtime.sim.controllers.workload_cleanup import delete_objects, drop_group, has_pods
from apportion_runtime.sim.engine import Denied, Engine, refusal_text
from apportion_runtime.sim.history import (
    ENDED_BY_DELETION,
    ENDED_BY_EVICTION,
    ENDED_BY_FAILURE,
    ENDED_BY_SUCCESS,
    WorkloadFacts,
)
from apportion_runtime.sim.kubelet.kubelet import Kubelet
from apportion_runtime.sim.scenario.format import Manifest, Work

_CRON_JOB = ("batch", "CronJob")
_ASSIGNED = "spec.nodeName assigns its pod to a node without the scheduler, which is not simulated; remove it"
_DEFAULT_NAMESPACE = "default"
DELETED, LOST, REFUSED = "deleted", "lost", "refused"


class Workloads:
    """The workloads of a simulation, by their number.

    Attributes:
        works: All workloads.
        running: Those that exist.
        ending: Those that ended or were deleted, whose last pods are not gone yet.
    """

    def __init__(self, cluster_state: ClusterState, engine: Engine, admit: Callable[[Manifest], None]) -> None:
        self._cluster_state = cluster_state
        self._engine = engine
        self._admit = admit
        self.works: list[Work] = []
        self.running: dict[int, Running] = {}
        self.ending: dict[int, None] = {}
        self._work_rate = WorkRate(cluster_state)
        self.cron_jobs = CronJobs(cluster_state, self)
        self.kubelet = Kubelet(cluster_state, startup_s=self._startup_s, ready=self._ready, stops=self._stops)

    def add(self, work: Work) -> int:
        """Add a workload that will arrive, and return its number."""
        manifest, number = work.manifest, len(self.works)
        self.works.append(work)
        namespace = namespace_of(manifest) or _DEFAULT_NAMESPACE
        self._cluster_state.history.workloads.append(
            WorkloadFacts(number, name_of(manifest), str(manifest.get("kind")), namespace, work.arrives_s)
        )
        return number

    def arrive(self, number: int) -> None:
        """Create a workload with its objects and pods."""
        cluster_state, work = self._cluster_state, self.works[number]
        facts = cluster_state.history.workloads[number]
        metadata = {**work.manifest["metadata"], "namespace": facts.namespace}
        try:
            self._admit(work.manifest)
            made = cluster_state.store.create(self._engine.admit({**work.manifest, "metadata": metadata}))
            if kind_of(made) == _CRON_JOB:
                self.cron_jobs.begin(number, made)
                return
            expansion = expand(made)
            if any(slot.spec.get("nodeName") for slot in expansion.slots):
                raise ValueError(_ASSIGNED)
        except (Conflict, GroupingError, KeyError, ValueError) as refused:
            self._refuse(number, refusal_text(refused))
            return
        facts.queue = labels_of(made).get(QUEUE_LABEL, "")
        cluster_state.note("arrived", workload=number)
        running = self.running[number] = Running(number, work, made, expansion)
        running.slots = {slot.key: slot for slot in expansion.slots}
        facts.gpus = gpus_of(expansion)
        running.is_suspended = is_suspended(made)
        self._engine.made(running)
        if not running.is_suspended:
            self._start(running)
        plan_changes(cluster_state, running)
        if not running.slots and running.expansion.ending is not Ending.NEVER:
            self._finish(running, ENDED_BY_SUCCESS)

    def _refuse(self, number: int, why: str) -> None:
        facts = self._cluster_state.history.workloads[number]
        facts.outcome, facts.finished_s, facts.why_waiting = REFUSED, self._cluster_state.elapsed_s, why
        self._cluster_state.note("refused", workload=number, why=why)

    def _start(self, running: Running) -> None:
        """Create the pods of a workload, and the objects between it and them."""
        if not running.has_begun:
            running.has_begun = True
            create_children(self._cluster_state, running, running.expansion.children)
            made, status = running.manifest, running.expansion.status
            if status:
                running.manifest = self._cluster_state.store.patch_status(
                    made["kind"], namespace_of(made), name_of(made), status
                )
        self._fill(running)

    def _fill(self, running: Running) -> None:
        """Create the missing pods until one is denied, which is retried later."""
        if running.is_suspended or running.outcome:
            return
        expansion = running.expansion
        room = len(running.slots) if expansion.at_once is None else expansion.at_once - len(running.pods)
        for key, slot in running.slots.items():
            if room <= 0:
                return
            if slot.comes_last and not running.was_whole:
                continue
            if key not in running.pods and key not in running.over:
                try:
                    if not (running.pods and self._make_like(running, slot)):
                        self._make_pod(running, slot)
                except Denied as refused:
                    plan_retry(self._cluster_state, running, str(refused))
                    return
                running.n_denied = 0
                room -= 1

    def try_again(self, number: int) -> None:
        """Retry the creation of denied pods of a workload."""
        running = self.running.get(number)
        if running is not None and running.n_denied:
            self._fill(running)

    def _make_pod(self, running: Running, slot: Slot) -> None:
        made = create_pod(self._cluster_state, self._engine.admit, running, slot)
        note_pod(self._cluster_state, running, slot, made, self._engine.add_pod(running, made))

    def _make_like(self, running: Running, slot: Slot) -> bool:
        """Create a pod that differs from the first of its Job only in name and index; return whether it does."""
        if slot.owner is None or slot.comes_last or slot.key in running.n_made:
            return False
        found = self._engine.create_like(running, slot, f"{slot.owner[1]}-{slot.key}")
        if found is None:
            return False
        running.n_made[slot.key] = 1
        note_pod(self._cluster_state, running, slot, *found)
        return True

    def placed(self, uid: str) -> None:
        """Handle the binding of a pod."""
        pod = self._cluster_state.pods[uid]
        running = self.running.get(pod.workload)
        group = None if running is None else running.group_of(pod.record.group)
        if running is not None and group is not None:
            note_placement(self._cluster_state, running, group, pod)

    def group_of(self, pod: PodState) -> Group | None:
        """Return a pod's gang; None if its workload has finished or has no gang."""
        running = self.running.get(pod.workload)
        return None if running is None else running.group_of(pod.record.group)

    def _startup_s(self, pod: PodState) -> float:
        """Return the startup time of a pod, which is 0 for one that only submits work."""
        running = self.running.get(pod.workload)
        slot = None if running is None else running.slots.get(pod.slot)
        return 0.0 if slot is not None and slot.comes_last else self.works[pod.workload].startup_s

    def _ready(self, pod: PodState) -> None:
        running = self.running.get(pod.workload)
        if running is None:
            return
        group = running.group_of(pod.record.group)
        if group is not None:
            group.ready[part_of(pod.record.sub_group)] += 1
        if wants_last(running, pod, self._cluster_state.pods):
            self._fill(running)
        self._work_rate.update(running, pod)

    def _stops(self, pod: PodState) -> None:
        running = self.running.get(pod.workload)
        if running is None:
            return
        was_ready = pod.is_ready
        note_stop(running.group_of(pod.record.group), pod)
        if was_ready and not running.outcome and pod.slot not in running.over:
            self._work_rate.update(running, pod)
        if (
            running.expansion.replacing is PodReplacement.AT_ONCE
            and pod.slot not in running.over
            and not running.outcome
        ):
            if running.pods.get(pod.slot) == pod.uid:
                del running.pods[pod.slot]
            self._fill(running)

    def work_done(self, number: int, slot: str, generation: int) -> None:
        """Handle the completion of a workload or pod, unless its rate changed since the event was scheduled."""
        running = self.running.get(number)
        progress = None if running is None else running.progress.get(slot)
        if running is None or progress is None or progress.generation != generation or running.outcome:
            return
        if running.ends_together:
            self._finish(running, ENDED_BY_FAILURE if running.work.fails else ENDED_BY_SUCCESS)
            return
        self._end_pod(running, slot)
        self._fill(running)
        if len(running.over) == len(running.slots):
            self._finish(running, ENDED_BY_FAILURE if running.work.fails else ENDED_BY_SUCCESS)

    def _end_pod(self, running: Running, slot: str) -> None:
        """A pod ends by itself; the engine sees it as succeeded until the workload finishes."""
        cluster_state, uid = self._cluster_state, running.pods.pop(slot)
        pod = cluster_state.pods[uid]
        running.over.add(slot)
        running.done.add(slot)
        how = ENDED_BY_FAILURE if running.work.fails else ENDED_BY_SUCCESS
        pod.leaving = how
        record = pod.record
        group = running.group_of(record.group)
        cluster_state.note(how, workload=running.number, pod=pod.name, node=record.node or "")
        self.kubelet.forget(uid, how)
        self._engine.left(pod)
        if group is not None and how == ENDED_BY_SUCCESS:
            group.pods.pop(uid, None)
            cluster_state.records.put_succeeded(record)

    def scale(self, number: int, replicas: int, group: str) -> None:
        """Scale a workload."""
        running = self.running.get(number)
        if running is None or running.outcome:
            return
        scale_objects(self._cluster_state, running, replicas, group)
        self._follow(running)

    def change(self, number: int, manifest: Manifest) -> None:
        """Replace a workload's object: suspended, released, or with a different template for new pods."""
        running = self.running.get(number)
        if running is None or running.outcome:
            return
        running.manifest = self._cluster_state.store.update(manifest)
        was_suspended, running.is_suspended = running.is_suspended, is_suspended(manifest)
        if running.is_suspended and not was_suspended:
            running.was_whole = running.was_submitted = False
            for uid in list(running.pods.values()):
                self.kubelet.stop(self._cluster_state.pods[uid], ENDED_BY_EVICTION)
        self._follow(running)

    def _follow(self, running: Running) -> None:
        """Reconcile the pods of a workload with its object."""
        running.expansion = expand(running.manifest)
        running.slots = {slot.key: slot for slot in running.expansion.slots}
        for key, uid in list(running.pods.items()):
            if key not in running.slots:
                running.over.add(key)
                self.kubelet.stop(self._cluster_state.pods[uid], ENDED_BY_DELETION)
        running.over -= running.slots.keys() - running.done
        self._engine.changed(running)
        if not running.is_suspended:
            self._start(running)
        self._regroup(running)

    def _regroup(self, running: Running) -> None:
        for uid in running.pods.values() if running.groups else ():
            pod = self._cluster_state.pods.get(uid)
            if pod is not None and not pod.leaving:
                self._engine.regroup(running, pod_object(self._cluster_state, pod))
                return

    def leave(self, number: int, *, only_if_unstarted: bool = False) -> None:
        """Delete a workload."""
        running = self.running.get(number)
        if running is None or running.outcome:
            return
        if only_if_unstarted and self._cluster_state.history.workloads[number].started_s is not None:
            return
        self._delete(running, DELETED)

    def deleted(self, kind: str, namespace: str, name: str) -> None:
        """Handle the deletion of a workload."""
        for running in list(self.running.values()):
            made = running.manifest
            if (made["kind"], namespace_of(made), name_of(made)) == (kind, namespace, name):
                self.leave(running.number)

    def group_deleted(self, namespace: str, name: str) -> None:
        """Handle the deletion of a pod group: its pods are grouped again."""
        cluster_state = self._cluster_state
        cluster_state.store.delete("PodGroup", namespace, name)
        cluster_state.records.drop_group(name)
        for running in self.running.values():
            group = running.groups.get(name)
            for uid in group.pods if group is not None else ():
                pod = cluster_state.pods[uid]
                self._engine.regroup(running, pod_object(cluster_state, pod))
                cluster_state.records.set_pod(pod.record)
        cluster_state.request_cycle()

    def _delete(self, running: Running, outcome: str) -> None:
        running.outcome = outcome
        for uid in list(running.pods.values()):
            if uid in self._cluster_state.pods:
                self.kubelet.stop(self._cluster_state.pods[uid], ENDED_BY_DELETION)
        self._clean_up(running)

    def pod_gone(self, uid: str) -> None:
        """Handle the end of a pod's deletion."""
        pod = self._cluster_state.pods.get(uid)
        if pod is not None:
            self._cluster_state.note(
                "gone", workload=pod.workload, pod=pod.name, node=pod.record.node or "", why=pod.leaving
            )
            self.remove_pod(uid)

    def remove_pod(self, uid: str, ended_by: str = "") -> None:
        """Delete a pod immediately, and create its replacement."""
        pod = self._cluster_state.pods.get(uid)
        running = None if pod is None else self.running.get(pod.workload)
        group = None if pod is None else self.group_of(pod)
        self.kubelet.forget(uid, ended_by)
        if pod is None or running is None:
            return
        self._engine.left(pod)
        if group is not None:
            group.pods.pop(uid, None)
        if running.pods.get(pod.slot) == uid:
            del running.pods[pod.slot]
            if running.expansion.replacing is PodReplacement.NEVER:
                running.over.add(pod.slot)
                running.done.add(pod.slot)
        if running.outcome:
            self._clean_up(running)
            return
        if running.expansion.replacing is PodReplacement.NEVER and not running.pods:
            running.outcome = LOST
            self._clean_up(running)
            return
        self._fill(running)
        if group is not None and not group.pods and not running.is_suspended and not running.n_denied:
            drop_group(self._cluster_state, running, group.name)

    def expire(self, number: int) -> None:
        """Delete the retained objects of a finished workload."""
        running = self.running.get(number)
        if running is not None and not running.outcome:
            self._finish(running, running.ended)

    def _finish(self, running: Running, outcome: str) -> None:
        cluster_state = self._cluster_state
        stays = retention_s(running.manifest)
        if stays and not running.ended:
            facts = cluster_state.history.workloads[running.number]
            running.ended = facts.outcome = outcome
            facts.finished_s = cluster_state.elapsed_s
            running.progress.clear()
            for key in [key for key in running.pods if key in running.slots and running.slots[key].comes_last]:
                self._end_pod(running, key)
            cluster_state.note("done", workload=running.number, why=f"{outcome}; its cluster is kept for {stays:g}s")
            cluster_state.events.plan(cluster_state.now + stays, ClusterExpires(running.number))
            return
        running.outcome = outcome
        for slot in list(running.pods):
            uid = running.pods[slot]
            if uid in cluster_state.pods and cluster_state.pods[uid].is_bound and not cluster_state.pods[uid].leaving:
                self._end_pod(running, slot)
            elif uid in cluster_state.pods:
                self.kubelet.stop(cluster_state.pods[uid], ENDED_BY_DELETION)
        self._clean_up(running)

    def _clean_up(self, running: Running) -> None:
        """Delete the workload's groups and objects once its last pod is gone."""
        cluster_state = self._cluster_state
        if has_pods(cluster_state, running):
            self.ending[running.number] = None
            return
        self.ending.pop(running.number, None)
        self._engine.finished(running)
        for name in list(running.groups):
            drop_group(cluster_state, running, name)
        delete_objects(cluster_state, running)
        facts = cluster_state.history.workloads[running.number]
        if not running.ended:
            facts.outcome, facts.finished_s = running.outcome, cluster_state.elapsed_s
        facts.end_waiting()
        cluster_state.note("finished", workload=running.number, why=running.outcome)
        del self.running[running.number]
        cluster_state.request_cycle()
