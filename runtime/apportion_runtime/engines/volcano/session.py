"""One cycle of Volcano's scheduler: jobs, queues and nodes, and what is decided about them, which can be taken back.

Source: pkg/scheduler/framework (session.go, session_plugins.go, statement.go), pkg/scheduler/plugins/nodeorder,
resource-strategy-fit, binpack, predicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.volcano.configuration import SchedulerConfiguration
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.misfit import Misfit
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.profiles import MOST, Profile
from apportion_runtime.engines.kube_scheduler.scheduler import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.scores import fit_score, scores
from apportion_runtime.engines.volcano.capacity import Capacity
from apportion_runtime.engines.volcano.jobs import Job, Phase, Status, Task
from apportion_runtime.sim.api.pod_requests import add

_MOST_SCORE = 100
_FIT_WEIGHT = 10
_NODE_ORDER = {
    "leastrequested.weight": ("NodeResourcesFit", 1),
    "balancedresource.weight": ("NodeResourcesBalancedAllocation", 1),
    "nodeaffinity.weight": ("NodeAffinity", 2),
    "podaffinity.weight": ("InterPodAffinity", 2),
    "tainttoleration.weight": ("TaintToleration", 3),
    "podtopologyspread.weight": ("PodTopologySpread", 2),
}
_CPU_AND_MEMORY = {"cpu": 1, "memory": 1}


@dataclass(slots=True)
class Statement:
    """Decisions that hold together: all of them, or none."""

    done: list[tuple[Task, Status, NodeState | None]] = field(default_factory=list)
    """Pods with the state and the node that they had before."""
    evicted: list[tuple[Task, Task, str]] = field(default_factory=list)
    """Pods that leave, for whom, and by which action."""
    placed: list[Task] = field(default_factory=list)
    nominated: list[tuple[Task, NodeState]] = field(default_factory=list)


class Session:
    """A cycle.

    Args:
        configuration: What is on.
        nodes: The nodes, up to date.
        capacity: The queues, with what their jobs hold.
        jobs: The jobs.
        tasks: Their pods by uid.
        nominated: By pod the node on which others leave for it.

    Attributes:
        wanting: The jobs of which pods wait.
        futile: Places that were looked for in vain, as long as nothing is decided.
        fruitless: Jobs for which nothing could be done, by what they have in common, and why of each of their pods.
    """

    def __init__(
        self,
        configuration: SchedulerConfiguration,
        nodes: Nodes,
        capacity: Capacity,
        jobs: Iterable[Job],
        tasks: Mapping[str, Task],
        *,
        nominated: Mapping[str, str],
    ) -> None:
        self.configuration = configuration
        self.nodes = nodes
        self.capacity = capacity
        self.jobs = {job.key: job for job in jobs}
        self.nominated = nominated
        self.tasks = tasks
        self.futile: set[object] = set()
        self.fruitless: dict[object, tuple[str, ...]] = {}
        self.committed: list[Statement] = []
        self._profile = _profile(configuration)
        self._coming: dict[str, dict[str, int]] = {}
        """By node what those leave there that go, less what those take that wait for it."""
        self.wanting = [job for job in self.jobs.values() if job.counts[Status.PENDING]]
        self._orders = [
            plugin.name
            for plugin in configuration.plugins
            if plugin.name in ("priority", "gang") and plugin.does("JobOrder")
        ]
        self._count()

    def _count(self) -> None:
        """Count what jobs hold and ask for at their queues, and what is about to become free on the nodes."""
        capacity = self.capacity
        sums: dict[str, tuple[dict[str, int], ...]] = {}
        for job in self.jobs.values():
            if job.counts[Status.RELEASING]:
                for task in job.tasks.values():
                    if task.status is Status.RELEASING and task.node is not None and task.uid in task.node.pods:
                        self._becomes_free(task.node, task.request, 1)
            if job.queue not in capacity.queues:
                continue
            held, requested, inqueue, elastic = sums.setdefault(job.queue, ({}, {}, {}, {}))
            if job.n_holding:
                add(held, job.allocated)
                add(elastic, job.elastic)
            if job.counts[Status.PENDING]:
                for task in job.tasks.values():
                    if task.status is Status.PENDING:
                        add(requested, task.request)
            add(inqueue, job.inqueue())
        for queue, (held, requested, inqueue, elastic) in sums.items():
            capacity.count(queue, requested=requested, inqueue=inqueue, elastic=elastic)
            capacity.charge(queue, held)

    def in_order(self, jobs: Iterable[Job]) -> list[Job]:
        """Return jobs in the order in which they are served."""
        return sorted(jobs, key=self.order)

    def order(self, job: Job) -> tuple[object, ...]:
        """Return a job's place among others: by the plugins in their order, then the older one."""
        said = (-job.group.priority if plugin == "priority" else job.is_ready for plugin in self._orders)
        return (*said, job.group.created, job.key)

    def compare(self, left: Job, right: Job) -> int:
        """Tell which of two jobs is served first, as a comparison."""
        one, other = self.order(left), self.order(right)
        return -1 if one < other else int(one != other)

    def is_starving(self, job: Job) -> bool:
        """Tell whether a job wants more, by the first tier that has anything to say."""
        for tier in self.configuration.tiers:
            asked = [p.name for p in tier.plugins if p.name in ("priority", "gang") and p.does("JobStarving")]
            if asked:
                return all(job.is_starving(by) for by in asked)
        return False

    def is_schedulable(self, job: Job) -> bool:
        """Tell whether a job is enqueued and whole."""
        return job.group.phase is not Phase.PENDING and job.is_valid and job.queue in self.capacity.queues

    def future_idle(self, node: NodeState) -> dict[str, int]:
        """Return what a node has once those that leave are gone, and those that wait for it have come."""
        idle = {name: node.free(name) for name in node.allocatable}
        add(idle, self._coming.get(node.name, {}))
        return idle

    def changes(self, node: NodeState) -> bool:
        """Tell whether pods are about to leave a node, or wait for it."""
        return node.name in self._coming

    def lacking_later(self, task: Task, node: NodeState) -> Iterator[str]:
        """Yield the resources of which a node has too little for a pod once others are gone."""
        coming, allocatable = self._coming.get(node.name, {}), node.allocatable
        for name, value in task.request.items():
            if value > (node.free(name) if name in allocatable else 0) + coming.get(name, 0):
                yield name

    def _becomes_free(self, node: NodeState, request: Mapping[str, int], sign: int) -> None:
        coming = self._coming.setdefault(node.name, {})
        for name, value in request.items():
            coming[name] = coming.get(name, 0) + sign * value

    def predicates(self, task: Task) -> dict[str, Misfit | None]:
        """Return by node why a pod may not run there, whatever is free; None where it may."""
        filters = Filters(task.pod, self._profile, self.nodes)
        found: dict[str, Misfit | None] = {}
        for node in self.nodes.all:
            misfit = filters.misfit(node)
            if misfit is None and not node.has_room:
                misfit = Misfit(("Too many pods",))
            found[node.name] = misfit
        return found

    def best(self, task: Task, nodes: Sequence[NodeState]) -> NodeState:
        """Return the node with the best score, of several alike the first by name."""
        if len(nodes) == 1:
            return nodes[0]
        found = self.scored(task, nodes)
        return max(nodes, key=lambda node: (found[node.name], [-ord(letter) for letter in node.name]))

    def scored(self, task: Task, nodes: Sequence[NodeState]) -> dict[str, float]:
        """Return the score of each node."""
        total = dict.fromkeys((node.name for node in nodes), 0.0)
        for plugin in self.configuration.plugins:
            if plugin.name == "nodeorder":
                for node, score in zip(nodes, scores(task.pod, self._profile, nodes, self.nodes), strict=True):
                    total[node.name] += score
                most = int(plugin.arguments.get("mostrequested.weight") or 0)
                packed = replace(self._profile, strategy=MOST)
                for node in nodes if most else ():
                    total[node.name] += most * fit_score(task.pod, node, packed)
            elif plugin.name == "resource-strategy-fit":
                for node in nodes:
                    total[node.name] += strategy_score(task, node, plugin.arguments)
            elif plugin.name == "binpack":
                for node in nodes:
                    total[node.name] += binpack_score(task, node, plugin.arguments)
        return total

    def allocate(self, statement: Statement, task: Task, node: NodeState) -> None:
        """Give a pod a place that is free."""
        statement.done.append((task, task.status, task.node))
        statement.placed.append(task)
        task.become(Status.ALLOCATED)
        task.node = node
        node.add(task.pod)
        self.capacity.charge(task.queue, task.request)

    def pipeline(self, statement: Statement, task: Task, node: NodeState, *, nominates: bool = False) -> None:
        """Have a pod wait for a place that becomes free."""
        statement.done.append((task, task.status, task.node))
        if nominates:
            statement.nominated.append((task, node))
        task.become(Status.PIPELINED)
        task.node = node
        self._becomes_free(node, task.request, -1)
        self.capacity.charge(task.queue, task.request)

    def unpipeline(self, task: Task) -> None:
        """Have a pod wait for no place any more."""
        assert task.node is not None
        self.futile.clear()
        self.fruitless.clear()
        self._becomes_free(task.node, task.request, 1)
        self.capacity.charge(task.queue, task.request, -1)
        task.become(Status.PENDING)
        task.node = None

    def evict(self, statement: Statement, task: Task, by: Task, action: str) -> None:
        """Have a pod leave for another."""
        statement.done.append((task, task.status, task.node))
        statement.evicted.append((task, by, action))
        assert task.node is not None
        self._becomes_free(task.node, task.request, 1)
        task.become(Status.RELEASING)
        self.capacity.charge(task.queue, task.request, -1)

    def discard(self, statement: Statement) -> None:
        """Take back what a statement decided."""
        for task, status, node in reversed(statement.done):
            if task.status is Status.ALLOCATED and task.node is not None:
                task.node.remove(task.pod)
                self.capacity.charge(task.queue, task.request, -1)
            elif task.status is Status.PIPELINED:
                self.unpipeline(task)
            elif task.status is Status.RELEASING and task.node is not None:
                self._becomes_free(task.node, task.request, -1)
                self.capacity.charge(task.queue, task.request)
            task.become(status)
            task.node = node
        statement.done.clear()
        statement.evicted.clear()
        statement.placed.clear()
        statement.nominated.clear()

    def kind(self, job: Job, tasks: Sequence[Task], action: str) -> object | None:
        """Return what jobs have in common that fare alike; None where their pods differ, or company matters."""
        if self.nodes.has_anti_affinity or not tasks or any(task.uid in self.nominated for task in tasks):
            return None
        shapes = {alike_on_nodes(task.pod) for task in tasks}
        shape = shapes.pop()
        if shapes or shape is None:
            return None
        counts = (len(tasks), len(job.tasks), job.least, job.n_ready, job.n_waiting, job.n_free)
        return action, job.queue, job.group.priority, shape, counts, job.key if job.n_holding else ""

    def forget(self, statement: Statement) -> None:
        """Have everything be looked for anew, where a statement decided anything."""
        if statement.done:
            self.futile.clear()
            self.fruitless.clear()

    def commit(self, statement: Statement) -> None:
        """Have what a statement decided stand."""
        self.forget(statement)
        self.committed.append(statement)

    def fits_later(self, task: Task, node: NodeState) -> bool:
        """Tell whether a node has enough for a pod once others are gone."""
        coming = self._coming.get(node.name)
        if coming is None:
            return fits_on(task.request, node)
        for name, value in task.request.items():
            if value > 0 and value > (node.free(name) if name in node.allocatable else 0) + coming.get(name, 0):
                return False
        return True


def merge(into: Statement, other: Statement) -> None:
    """Have one statement hold what another does."""
    into.done += other.done
    into.evicted += other.evicted
    into.placed += other.placed
    into.nominated += other.nominated


def fits_on(request: Mapping[str, int], node: NodeState) -> bool:
    """Tell whether a node has enough of everything now."""
    allocatable, requested = node.allocatable, node.requested
    for name, value in request.items():
        # What a node does not have at all, pods of other schedulers may still hold there.
        if value > 0 and (name not in allocatable or value > allocatable[name] - requested.get(name, 0)):
            return False
    return True


def _profile(configuration: SchedulerConfiguration) -> Profile:
    """Return kube-scheduler's plugins as Volcano's predicates and nodeorder use them."""
    plain = Profile()
    filters = plain.filters - {"NodeResourcesFit"} if configuration.plugin("predicates") else frozenset[str]()
    order = configuration.plugin("nodeorder")
    arguments = {} if order is None else order.arguments
    weights = {name: int(arguments.get(key, default)) for key, (name, default) in _NODE_ORDER.items()}
    return replace(
        plain,
        filters=filters,
        weights={name: weight for name, weight in weights.items() if weight},
        resources=_CPU_AND_MEMORY,
        balanced={**_CPU_AND_MEMORY, GPU_RESOURCE: 1},
    )


def strategy_score(task: Task, node: NodeState, arguments: Mapping[str, object]) -> float:
    """Return the score of the plugin resource-strategy-fit."""
    written = arguments.get("resources")
    resources = written if isinstance(written, Mapping) and written else {"cpu": {}, "memory": {}}
    total = weights = 0.0
    for name, asked in task.request.items():
        said = resources.get(name)
        if said is None or not asked:
            continue
        weight = float(said.get("weight") or 1)
        capacity = node.allocatable.get(name, 0)
        used = node.requested.get(name, 0) + asked
        if capacity == 0 or used > capacity:
            return 0.0
        part = used / capacity if said.get("type") == MOST else (capacity - used) / capacity
        total += weight * part
        weights += weight
    overall = arguments.get("resourceStrategyFitWeight")
    factor = _FIT_WEIGHT if overall is None else float(str(overall))
    return total / weights * _MOST_SCORE * factor if weights else 0.0


def binpack_score(task: Task, node: NodeState, arguments: Mapping[str, object]) -> float:
    """Return the score of the plugin binpack."""
    weight = int(str(arguments.get("binpack.weight", 1)))
    extended = [name.strip() for name in str(arguments.get("binpack.resources") or "").split(",") if name.strip()]
    total = weights = 0.0
    for name in ("cpu", "memory", *extended):
        own = int(str(arguments.get(f"binpack.{'resources.' if name in extended else ''}{name}", 1)))
        asked = task.request.get(name, 0)
        if not asked:
            continue
        capacity = node.allocatable.get(name, 0)
        used = node.requested.get(name, 0) + asked
        if capacity and own and used <= capacity:
            total += used * own / capacity
        weights += own
    return total / weights * _MOST_SCORE * weight if weights else 0.0
