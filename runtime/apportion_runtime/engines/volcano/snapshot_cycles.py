"""Volcano's cycles on the objects of a cluster: the pods that it evicts for pending work.

Between two cycles, pods that were assigned a node start to run, and evicted pods are pending again, because their
controllers recreate them. A pod that names no PodGroup belongs to that of its owner, which Volcano's controller
creates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_api.objects import read
from apportion_api.volcano import objects as api
from apportion_api.volcano.names import GROUP, GROUP_ANNOTATION, QUEUE_ANNOTATION, QUEUE_LABEL, SCHEDULER
from apportion_runtime.admission.objects import annotations_of, kind_of, labels_of, name_of, namespace_of, nested
from apportion_runtime.core.status import RUNNING
from apportion_runtime.engines.kube_scheduler.nodes import Nodes
from apportion_runtime.engines.kube_scheduler.pods import PodFacts, pod_facts
from apportion_runtime.engines.volcano.capacity import DEFAULT, queue_spec
from apportion_runtime.engines.volcano.configuration import read_configuration
from apportion_runtime.engines.volcano.cycle import open_capacity, run_actions
from apportion_runtime.engines.volcano.group_state import GroupState, Phase
from apportion_runtime.engines.volcano.job_index import JobIndex
from apportion_runtime.engines.volcano.jobs import Job, Status, Task
from apportion_runtime.engines.volcano.node_ranking import Rankings
from apportion_runtime.engines.volcano.pod_groups import is_preemptable, role_of
from apportion_runtime.engines.volcano.session import Session
from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.events import EventQueue
from apportion_runtime.sim.api.object_store import ObjectStore
from apportion_runtime.sim.api.scheduler_records import Records
from apportion_runtime.sim.engine import reading
from apportion_runtime.sim.history import History
from apportion_runtime.sim.observed.eviction_record import Eviction
from apportion_runtime.sim.scenario.format import Timing
from apportion_runtime.snapshots.pod_requests import amounts, pod_requests, total
from apportion_runtime.snapshots.quantities import parse_time

Manifest = Mapping[str, Any]
_ENDED = ("Succeeded", "Failed")


def evictions_by_cycle(objects: Iterable[Manifest], n_cycles: int) -> Iterator[tuple[Eviction, ...]]:
    """Yield the running pods of the snapshot that each cycle evicts; stops once a cycle decides nothing.

    Raises:
        UnreadableError: If the objects cannot be read, or the configuration enables what is not simulated.
    """
    cluster = _Cluster(list(objects))
    for number in range(n_cycles):
        found, has_decided = cluster.run_cycle(number)
        yield found
        if not has_decided:
            return


class _Cluster:
    """A cluster between two cycles."""

    def __init__(self, objects: list[Manifest]) -> None:
        by_kind: dict[tuple[str, str], list[Manifest]] = {}
        for made in objects:
            by_kind.setdefault(kind_of(made), []).append(made)
        self._configuration = read_configuration(by_kind.get(("", "ConfigMap"), ()))
        self._specs = []
        for made in by_kind.get((GROUP, "Queue"), ()):
            with reading(f"Queue {name_of(made)}"):
                self._specs.append(queue_spec(read(api.Queue, made)))
        classes = by_kind.get((SCHEDULING_GROUP, "PriorityClass"), ())
        self._classes = {name_of(made): int(made.get("value") or 0) for made in classes}
        self._default_priority = next((int(made.get("value") or 0) for made in classes if made.get("globalDefault")), 0)
        clock = Clock()
        self._state = ClusterState(
            clock, EventQueue(), ObjectStore(clock), Records((), clock.now), History(keeps_facts=False), Timing()
        )
        for made in by_kind.get(("", "Node"), ()):
            with reading(f"Node {name_of(made)}"):
                self._state.store.create(made)
                self._state.records.put_node(made)
        self._resources = total(
            amounts(nested(made, "status", "allocatable")) for made in by_kind.get(("", "Node"), ())
        )
        self._facts: dict[str, PodFacts] = {}
        self._nodes = Nodes(self._state, self._facts.get)
        self._rankings = Rankings(self._configuration, self._nodes)
        self._jobs: dict[str, Job] = {}
        for made in by_kind.get((GROUP, "PodGroup"), ()):
            with reading(f"PodGroup {namespace_of(made)}/{name_of(made)}"):
                group = self._group(made)
                self._jobs[group.key] = Job(group)
        self._tasks: dict[str, Task] = {}
        self._nominated: dict[str, str] = {}
        pods = by_kind.get(("", "Pod"), ())
        for made in pods:
            with reading(f"Pod {namespace_of(made)}/{name_of(made)}"):
                self._add_pod(made)
        self._running = {uid for uid, task in self._tasks.items() if task.status is Status.RUNNING}
        self._last = max((_time(made) for made in pods), default=0.0)

    def _group(self, made: Manifest) -> GroupState:
        written = read(api.PodGroup, made)
        if written.faults:
            raise ValueError(str(written.faults[0]))
        phase = nested(made, "status", "phase") or ""
        return GroupState(
            f"{namespace_of(made)}/{name_of(made)}",
            written.queue or DEFAULT,
            written.min_member or 0,
            None if written.min_resources is None else amounts(written.min_resources),
            self._classes.get(written.priority_class or "", self._default_priority),
            _time(made),
            -1,
            phase={"": Phase.PENDING, "Completed": Phase.RUNNING}.get(phase) or Phase(phase),
            task_least=written.task_least,
        )

    def _add_pod(self, made: Manifest) -> None:
        is_own = nested(made, "spec", "schedulerName") == SCHEDULER
        node = nested(made, "spec", "nodeName") or ""
        phase = nested(made, "status", "phase")
        if phase in _ENDED:
            job = self._jobs.get(_group_key(made) or "") if is_own else None
            if job is not None and phase == "Succeeded":
                job.group.n_succeeded += 1
            return
        if not is_own and not node:
            return
        # Annotations for other schedulers have no effect here.
        plain = {**made, "metadata": {**made["metadata"], "annotations": {}}}
        record = self._state.records.put_pod(plain)
        spec = made["spec"]
        facts = pod_facts(
            made, record, priority=int(spec.get("priority") or 0), may_preempt=spec.get("preemptionPolicy") != "Never"
        )
        self._facts[facts.uid] = facts
        if node:
            self._state.occupy(node, facts.uid)
        if is_own:
            job = self._job_of(made)
            if job is not None:
                task = Task(
                    facts, job, _status(made), None, is_preemptable(made), role_of(made), is_evicted=_is_evicted(made)
                )
                self._tasks[facts.uid] = task
                job.add(task)
                nominated = nested(made, "status", "nominatedNodeName")
                if nominated and not node:
                    self._nominated[facts.uid] = str(nominated)

    def _job_of(self, made: Manifest) -> Job | None:
        key = _group_key(made)
        if key is not None:
            return self._jobs.get(key)
        metadata = made["metadata"]
        owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), metadata)
        key = f"{namespace_of(made)}/podgroup-{owner.get('uid') or owner['name']}"
        if key not in self._jobs:
            queue = annotations_of(made).get(QUEUE_ANNOTATION) or labels_of(made).get(QUEUE_LABEL) or DEFAULT
            priority = self._classes.get(nested(made, "spec", "priorityClassName") or "", self._default_priority)
            phase = Phase.RUNNING if nested(made, "spec", "nodeName") else Phase.PENDING
            least = pod_requests(made["spec"])
            self._jobs[key] = Job(GroupState(key, queue, 1, least, priority, _time(made), -1, phase))
        return self._jobs[key]

    def run_cycle(self, number: int) -> tuple[tuple[Eviction, ...], bool]:
        """Run a cycle and carry it out; return the evicted pods, and whether another cycle may decide differently."""
        self._nodes.refresh()
        for task in self._tasks.values():
            task.node = self._nodes.get(task.pod.record.node or "")
        capacity = open_capacity(self._specs, self._resources, self._configuration)
        jobs = [job for job in self._jobs.values() if job.tasks]
        session = Session(
            self._configuration,
            self._nodes,
            capacity,
            JobIndex(jobs),
            self._tasks,
            nominated=self._nominated,
            rankings=self._rankings,
        )
        before = [job.group.phase for job in jobs], dict(self._nominated)
        run_actions(session)
        left = [task for task in self._tasks.values() if task.status is Status.RELEASING]
        evicted = [each for statement in session.committed for each in statement.evicted]
        found = tuple(
            Eviction(task.uid, action, by.job.key, by.queue)
            for task, by, action in evicted
            if task.uid in self._running
        )
        placed = [task for statement in session.committed for task in statement.placed]
        phases = [job.next_phase() for job in jobs]
        for job, phase in zip(jobs, phases, strict=True):
            job.group.phase = phase
        self._nominated |= session.nominations()
        has_changed = (phases, self._nominated) != before
        self._settle(placed, left, number)
        return found, bool(evicted or placed or left or has_changed)

    def _settle(self, placed: list[Task], left: list[Task], number: int) -> None:
        """Set placed pods to running and other unfinished placements to pending, and recreate terminating pods."""
        kept = {task.uid: task.node for task in placed}
        for task in self._tasks.values():
            if task.uid in kept and task.node is not None:
                self._bind(task, task.node.name)
            elif task.status in (Status.ALLOCATED, Status.PIPELINED):
                if task.status is Status.ALLOCATED and task.node is not None:
                    task.node.remove(task.pod)
                task.become(Status.PENDING)
                task.node = None
        for task in left:
            self._renew(task, number)

    def _bind(self, task: Task, node: str) -> None:
        self._nominated.pop(task.uid, None)
        record = replace(task.pod.record, node=node, status=RUNNING)
        assert task.node is not None
        task.node.remove(task.pod)
        task.pod = self._facts[task.uid] = replace(task.pod, record=record)
        task.node.add(task.pod)
        self._state.occupy(node, task.uid)
        task.become(Status.RUNNING)

    def _renew(self, task: Task, number: int) -> None:
        """Remove a pod, and add a pending one in its place."""
        job, old = task.job, task.uid
        job.remove(self._tasks.pop(old))
        facts = self._facts.pop(old)
        if task.node is not None:
            self._state.vacate(task.node.name, old)
        uid = f"{old}-{number}"
        record = replace(facts.record, uid=uid, node=None, created=self._last + 1 + number)
        self._facts[uid] = replace(facts, record=record)
        self._tasks[uid] = Task(self._facts[uid], job, Status.PENDING, None, task.preemptable, task.role)
        job.add(self._tasks[uid])


def _group_key(made: Manifest) -> str | None:
    name = annotations_of(made).get(GROUP_ANNOTATION)
    return f"{namespace_of(made)}/{name}" if name else None


def _status(made: Manifest) -> Status:
    if made["metadata"].get("deletionTimestamp") is not None:
        return Status.RELEASING
    if made["spec"].get("nodeName"):
        return Status.RUNNING
    return Status.GATED if made["spec"].get("schedulingGates") else Status.PENDING


def _is_evicted(made: Manifest) -> bool:
    """Return whether a scheduler evicted a pod. Source: pkg/scheduler/actions/preempt (podTerminatingByPreemption)."""
    conditions = nested(made, "status", "conditions") or ()
    found: Manifest = next((each for each in conditions if each.get("type") == "DisruptionTarget"), {})
    return found.get("status") == "True" and found.get("reason") == "PreemptionByScheduler"


def _time(made: Manifest) -> float:
    written = made["metadata"].get("creationTimestamp")
    return parse_time(str(written)) if written else 0.0
