"""The Volcano engine: its controllers and its scheduler."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.objects import read
from apportion_api.volcano.configuration import SCHEDULER_CONFIG_MAP
from apportion_api.volcano.names import GROUP_ANNOTATION, SCHEDULER
from apportion_api.volcano.objects import Queue
from apportion_runtime.admission.objects import annotations_of, kind_of, name_of
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.status import GATED
from apportion_runtime.engines.base.engine import PlainEngine, Pods
from apportion_runtime.engines.base.gangs import Gangs
from apportion_runtime.engines.kube_scheduler import KubeScheduler, read_profiles
from apportion_runtime.engines.kube_scheduler.nodes import Nodes
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import KIND
from apportion_runtime.engines.volcano import eviction_actions
from apportion_runtime.engines.volcano.amounts import Amounts
from apportion_runtime.engines.volcano.capacity import DEFAULT, ROOT, Capacity, QueueSpec, queue_spec
from apportion_runtime.engines.volcano.configuration import read_configuration
from apportion_runtime.engines.volcano.cycle import open_capacity, run_actions
from apportion_runtime.engines.volcano.group_state import GroupState, Phase
from apportion_runtime.engines.volcano.job_index import JobIndex
from apportion_runtime.engines.volcano.jobs import Job, Status, Task
from apportion_runtime.engines.volcano.node_ranking import Rankings
from apportion_runtime.engines.volcano.pod_groups import NO_QUEUE, OWN_MINIMUM, group_of, is_preemptable, role_of
from apportion_runtime.engines.volcano.queue_totals import QueueTotals
from apportion_runtime.engines.volcano.running_tasks import RunningTasks
from apportion_runtime.engines.volcano.session import Session
from apportion_runtime.engines.volcano.statement import Statement
from apportion_runtime.engines.volcano.unsupported_requests import unsupported_request
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.controllers.job_pods import JobPods
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Denied, reading
from apportion_runtime.sim.history import ENDED_BY_EVICTION, ENDED_BY_SUCCESS, Sample
from apportion_runtime.sim.kubelet.eviction import evict
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import CPU, GPUS, amounts, pod_requests, total


class Volcano(PlainEngine):
    """The Volcano engine."""

    name = "volcano"

    def __init__(self, cluster_state: ClusterState) -> None:
        super().__init__(cluster_state)
        self.pods = Pods(cluster_state, Gangs(cluster_state, least=self._least))
        with reading(f"ConfigMap {SCHEDULER_CONFIG_MAP}"):
            self._configuration = read_configuration(cluster_state.store.list("ConfigMap"))
        self._specs = {spec.name: spec for spec in map(_spec, cluster_state.store.list("Queue"))}
        self._groups: dict[str, GroupState] = {}
        self._groups_of: dict[int, list[str]] = {}
        """The keys of the groups of each workload."""
        self._jobs: dict[str, Job] = {}
        self._index = JobIndex()
        self._tasks: dict[str, Task] = {}
        self._running_tasks = RunningTasks(self._tasks)
        self._coming: dict[str, Task] = {}
        """Pods created since the start of the last cycle."""
        self._others: dict[str, None] = {}
        """Pods that do not use Volcano."""
        self._read_groups: dict[str, GroupState] = {}
        """The pod groups that were read while a pod is added, by pod."""
        self._job_pods = JobPods[GroupState](cluster_state)
        self._nominated: dict[str, str] = {}
        self._capacity = open_capacity(self._specs.values(), {}, self._configuration)
        """The queues, divided at a version of the nodes."""
        self._node_version = -1
        self._totals = QueueTotals()
        self._sampled: dict[str, tuple[Amounts, Amounts, Amounts]] = {}
        """The allocated, deserved and requested amounts of each queue in its last sample."""
        self._changed_pods = cluster_state.watch_pods()
        self._touched: dict[str, None] = {}
        """Pods that the last cycle changed, whether or not its decisions were carried out."""
        self._nodes_read = (-1, 0)
        """The epoch of the nodes and the number of their changes that were read."""

    @property
    def parents(self) -> Mapping[str, str | None]:
        """The queues of the tree, including those that Volcano creates itself."""
        found: dict[str, str | None] = {ROOT: None, DEFAULT: ROOT}
        if not self._configuration.has_hierarchy:
            return {DEFAULT: None, **dict.fromkeys(self._specs, None)}
        return {**found, **{name: spec.parent for name, spec in self._specs.items() if name != ROOT}}

    def begin(self, workloads: Workloads, pools: NodePools) -> None:
        """Start the engine on the workloads of the simulation."""
        super().begin(workloads, pools)
        self._nodes = Nodes(self.cluster_state, self.pods.facts)
        self._rankings = Rankings(self._configuration, self._nodes)
        profiles, _ = read_profiles(self.cluster_state.store.list(KIND))
        self._beside = KubeScheduler(self.cluster_state, workloads, self.pods.facts, profiles)

    def admit(self, made: Manifest) -> Manifest:
        """Return an object as it is stored.

        Raises:
            Denied: For a workload or pod with a request that is not simulated.
        """
        field = unsupported_request(made, self.cluster_state.store)
        if field is not None:
            raise Denied(f"{made['kind']} {name_of(made)}: {field} is not simulated; remove it")
        return super().admit(made)

    def _least(self, running: Running, made: Manifest) -> int | None:
        """Return the gang minimum of a pod if a controller sets it; a PodGroup that pods refer to may span several workloads."""
        if made["spec"].get("schedulerName") != SCHEDULER or GROUP_ANNOTATION in annotations_of(made):
            return None
        if kind_of(running.manifest)[0] in OWN_MINIMUM:
            return None
        group = self._read_groups[made["metadata"]["uid"]] = group_of(self.cluster_state, running, made)
        return group.least

    def add_pod(self, running: Running, made: Manifest) -> Pod:
        """Assign a pod to its pod group, which is created if necessary."""
        self._read_groups.clear()
        record = super().add_pod(running, made)
        if record.scheduler != SCHEDULER:
            self._others[record.uid] = None
            return record
        group = self._group_of(running, made, record)
        known = self._groups.get(group.key)
        if known is None:
            known = self._groups[group.key] = group
            self._groups_of.setdefault(group.workload, []).append(group.key)
            self._jobs[group.key] = Job(group)
            self._index.add(self._jobs[group.key])
        job = self._jobs[known.key]
        known.least, known.least_resources = group.least, group.least_resources
        job.set_phase(known.phase if record.node is None else Phase.RUNNING)
        facts = self.pods.facts_of(record)
        self._coming[record.uid] = Task(facts, job, Status.PENDING, None, is_preemptable(made), role_of(made))
        self.cluster_state.history.workloads[running.number].queue = known.queue
        return record

    def _group_of(self, running: Running, made: Manifest, record: Pod) -> GroupState:
        """Return the pod group of a new pod."""
        group = self._job_pods.of_first(made)
        if group is None:
            group = self._read_groups.get(record.uid) or group_of(self.cluster_state, running, made)
            if GROUP_ANNOTATION not in annotations_of(made):
                self._job_pods.note(made, record, group)
        return group

    def starts_together(self, running: Running) -> bool:
        """Return whether Volcano places a workload as a gang defined by its operator."""
        return all(
            slot.comes_last
            or (
                slot.spec.get("schedulerName") == SCHEDULER
                and GROUP_ANNOTATION not in slot.annotations
                and bool(pod_requests(slot.spec))
            )
            for slot in running.slots.values()
        )

    def left(self, pod: PodState) -> None:
        """Remove a pod; a succeeded one still counts for its group."""
        super().left(pod)
        self._others.pop(pod.uid, None)
        task = self._tasks.pop(pod.uid, None)
        self._nominated.pop(pod.uid, None)
        if task is not None:
            task.job.remove(task)
            if pod.leaving == ENDED_BY_SUCCESS:
                task.job.group.n_succeeded += 1
        self._coming.pop(pod.uid, None)

    def finished(self, running: Running) -> None:
        """Delete the pod groups of a workload."""
        super().finished(running)
        for key in self._groups_of.pop(running.number, ()):
            del self._groups[key]
            self._index.remove(self._jobs.pop(key))

    def run_cycle(self) -> None:
        """Run the actions in order, and carry out their decisions."""
        cluster_state = self.cluster_state
        cluster_state.history.n_cycles += 1
        self._nodes.refresh()
        if self._node_version != cluster_state.records.node_version:
            self._node_version = cluster_state.records.node_version
            resources = total(self._allocatable(name) for name in cluster_state.records.nodes)
            self._capacity = open_capacity(self._specs.values(), resources, self._configuration)
        capacity = self._capacity
        self._read_pods()
        session = Session(
            self._configuration,
            self._nodes,
            capacity,
            self._index,
            self._tasks,
            nominated=self._nominated,
            rankings=self._rankings,
            totals=self._totals,
            running=self._running_tasks,
        )
        nominated = dict(self._nominated)
        run_actions(session)
        self._touched = session.touched
        self._nominated |= session.nominations()
        for statement in session.committed:
            self._carry_out(statement)
        unplaced = self._close(session)
        self._index.settle()
        self._sample(capacity)
        self.grow([*unplaced, *self._place_beside()])
        has_decided = any(statement.evicted or statement.placed for statement in session.committed)
        # The next pods of a gang are nominated in the next cycle; a pod with a nominated node may not preempt again.
        if has_decided or self._index.has_changed_phases or self._nominated != nominated:
            cluster_state.request_cycle()

    def _allocatable(self, node: str) -> Amounts:
        """Return the resources of a node, also of one that is not ready or cordoned (pkg/scheduler/api/node_info.go, setNodeState)."""
        made = self.cluster_state.store.get("Node", "", node)
        assert made is not None
        return amounts(made["status"].get("allocatable"))

    def _read_pods(self) -> None:
        """Set the jobs and their pods to the current state of the cluster."""
        self._changed_pods.update(dict.fromkeys(self._coming))
        for uid, task in self._coming.items():
            self._tasks[uid] = task
            task.job.add(task)
        self._coming.clear()
        for uid in self._outdated():
            if uid in self._tasks:
                self._read(uid, self._tasks[uid])
        for number in self.workloads.ending:
            for job in map(self._jobs.__getitem__, self._groups_of.get(number, ())):
                if not job.is_deleted and self._is_deleted(job):
                    job.is_deleted = True
                    job.note_change()

    def _outdated(self) -> list[str]:
        """Return the pods that changed, that the last cycle changed, or whose nodes changed."""
        nodes = self._nodes
        found = {**self._changed_pods, **self._touched}
        self._changed_pods.clear()
        self._touched = {}
        epoch, n_read = self._nodes_read
        if epoch != nodes.epoch:
            found = dict.fromkeys(self._tasks)
        else:
            for row in set(nodes.changes[n_read:]):
                found.update(dict.fromkeys(nodes.all[row].pods))
        self._nodes_read = nodes.epoch, len(nodes.changes)
        return [*found]

    def _read(self, uid: str, task: Task) -> None:
        """Set a task to the state of its pod."""
        pod = self.cluster_state.pods.get(uid)
        if pod is None:
            task.job.remove(self._tasks.pop(uid))
            return
        if task.pod.record is not pod.record:
            facts = self.pods.facts(uid)
            assert facts is not None
            task.pod = facts
        task.node = self._nodes.get(pod.record.node or "")
        status = _status(pod)
        if task.status is not status:
            task.become(status)
        task.is_evicted = pod.leaving == ENDED_BY_EVICTION

    def _is_deleted(self, job: Job) -> bool:
        """Return whether a pod group is deleted, although its pods are still terminating."""
        running = self.workloads.running.get(job.group.workload)
        return job.group.is_owned and running is not None and bool(running.outcome)

    def _carry_out(self, statement: Statement) -> None:
        cluster_state, kubelet = self.cluster_state, self.workloads.kubelet
        for victim, by, action in statement.evicted:
            evict(
                cluster_state, kubelet, cluster_state.pods[victim.uid],
                action=action, rule=action, by=cluster_state.pods.get(by.uid),
                message=f"Pod is evicted, because of {action}",
                because=_because(victim, by, action),
            )  # fmt: skip
        for task in statement.placed:
            assert task.node is not None
            self._nominated.pop(task.uid, None)
            gpus = float(sum(task.request.get(name, 0) for name in GPUS))
            if kubelet.bind(task.uid, task.node.name, cpu=float(task.request.get(CPU, 0)), gpus=gpus):
                self.workloads.placed(task.uid)

    def _close(self, session: Session) -> list[PodFacts]:
        """Record why jobs wait, and return the pods that lack nodes."""
        unplaced: list[PodFacts] = []
        for job in session.wanting:
            if not job.counts[Status.PENDING]:
                continue
            waiting = job.waiting()
            group = job.group
            if group.phase is Phase.PENDING:
                why = group.why or self._not_considered(job)
                if waiting and why:
                    self.explain(waiting[0].pod, why)
            else:
                if waiting and not job.is_ready:
                    self.explain(waiting[0].pod, job.fit_error())
                unplaced += [task.pod for task in waiting if task.uid in job.reasons and not self._is_bound(job, task)]
        return unplaced

    def _place_beside(self) -> list[PodFacts]:
        """Place the pods that do not use Volcano by kube-scheduler, which every cluster has."""
        unplaced: list[PodFacts] = []
        if not self._others:
            return unplaced
        others = self.pods.waiting(lambda pod: pod.scheduler != SCHEDULER)
        for each in self._beside.run_cycle([pod for pod in others if self._beside.is_mine(pod.record)]):
            self.explain(each.pod, each.why)
            unplaced.append(each.pod)
        for pod in others:
            if not self._beside.is_mine(pod.record):
                self.explain(pod, f"scheduler {pod.record.scheduler} does not exist")
        return unplaced

    def _not_considered(self, job: Job) -> str:
        if job.queue == NO_QUEUE:
            return f"PodGroup {job.group.key} does not exist"
        return "" if job.queue in self.parents else f"queue {job.queue} does not exist"

    def _is_bound(self, job: Job, task: Task) -> bool:
        return job.reasons[task.uid].startswith("queue ")

    def _sample(self, capacity: Capacity) -> None:
        """Record queue samples; the fair share is the requested part of the deserved resources, or the allocation if nothing is deserved."""
        at = self.cluster_state.elapsed_s
        for queue in capacity.take_changed():
            state = queue.allocated, queue.deserved, queue.requested
            if self._sampled.get(queue.name) == state:
                continue
            self._sampled[queue.name] = state
            held, deserved, asked = (_gpus(part) for part in state)
            fair = min(held + asked, deserved) if deserved else held
            self.cluster_state.history.sample(queue.name, Sample(at, held, fair, deserved, held + asked))


def _spec(made: Manifest) -> QueueSpec:
    with reading(f"Queue {name_of(made)}"):
        return queue_spec(read(Queue, made))


def _because(victim: Task, by: Task, action: str) -> str:
    if action == eviction_actions.RECLAIM:
        return f"queue {victim.queue} exceeds its deserved resources, and queue {by.queue} reclaims the excess"
    return f"lower priority in queue {by.queue} ({victim.job.group.priority} < {by.job.group.priority})"


def _gpus(amounts_: Amounts) -> float:
    return float(sum(amounts_.get(name, 0) for name in GPUS))


def _status(pod: PodState) -> Status:
    if pod.leaving:
        return Status.RELEASING if pod.is_bound else Status.GATED
    if pod.is_bound:
        return Status.RUNNING
    if pod.record.scheduler != SCHEDULER or pod.record.status == GATED:
        return Status.GATED
    return Status.PENDING
