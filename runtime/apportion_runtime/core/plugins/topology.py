"""Topology constraints: domains of nodes by label; the smallest domain into which the pods of a group fit comes first.

Source: pkg/scheduler/plugins/topology/ (job_filtering.go, node_scoring.go, common.go, topology_utils.go).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from apportion_runtime.core.explain.fit_errors import (
    NOT_ENOUGH_RESOURCES,
    POD_SCHEDULING_ERRORS,
    JobFitError,
    lacking_in_domain,
    simple,
)
from apportion_runtime.core.job import Job
from apportion_runtime.core.nodes import Indices, NodeTable
from apportion_runtime.core.plugins import scores
from apportion_runtime.core.resources import CPU, GPU, MEMORY, PODS, ResourceIndex, Vector
from apportion_runtime.core.snapshot import Topology, TopologyConstraint
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES
from apportion_runtime.core.sub_groups import PodSet, SubGroupSet
from apportion_runtime.core.task import Task

ROOT = "root"
_NOT_SET = -1
_NOT_IN_DOMAIN = 1000.0
_BEST = 10
Part = PodSet | SubGroupSet


class _TotalRequest(NamedTuple):
    """The total request of some pods, and their number."""

    asked: Vector
    n_pods: int


class Domain:
    """Nodes that share the labels of a level and of all levels above."""

    __slots__ = ("children", "free", "id", "level", "members", "n_pods", "nodes")

    def __init__(self, id_: str, level: str) -> None:
        self.id, self.level = id_, level
        self.children: list[Domain] = []
        self.nodes: list[int] = []
        self.members: frozenset[int] = frozenset()
        self.n_pods = _NOT_SET
        self.free: Vector = np.zeros(0)


class _Tree:
    """The domains of one topology."""

    def __init__(self, topology: Topology, table: NodeTable) -> None:
        self.name, self.levels = topology.name, topology.levels
        self.root = Domain(ROOT, ROOT)
        self.by_level: dict[str, dict[str, Domain]] = {ROOT: {ROOT: self.root}}
        self.part_of = np.zeros(len(table), dtype=bool)
        for i, node in enumerate(table.nodes):
            if all(level in node.labels for level in topology.levels):
                self.part_of[i] = True
                self._add(i, [node.labels[level] for level in topology.levels])
        for domains in self.by_level.values():
            for domain in domains.values():
                domain.members = frozenset(domain.nodes)

    def _add(self, i: int, values: Sequence[str]) -> None:
        below: Domain | None = None
        for depth in range(len(self.levels) - 1, -1, -1):
            level, id_ = self.levels[depth], ".".join(values[: depth + 1])
            domain = self.by_level.setdefault(level, {}).setdefault(id_, Domain(id_, level))
            domain.nodes.append(i)
            if below is not None and all(child.id != below.id for child in domain.children):
                domain.children.append(below)
            below = domain
        if below is not None and all(child.id != below.id for child in self.root.children):
            self.root.children.append(below)
        self.root.nodes.append(i)

    def domains(self) -> Iterator[Domain]:
        """Yield every domain."""
        for domains in self.by_level.values():
            yield from domains.values()


class TopologyTrees:
    """The topologies of a session, and the scores that parts of the job being placed gave to nodes."""

    def __init__(self, topologies: Iterable[Topology], table: NodeTable) -> None:
        self._table = table
        self._trees = {topology.name: _Tree(topology, table) for topology in topologies}
        self._scores: dict[str, dict[int, float]] = {}

    def forget_scores(self) -> None:
        """Clear the scores before another job."""
        if self._scores:
            self._scores = {}

    def subsets(
        self,
        job: Job,
        part: Part,
        pod_sets: Mapping[str, PodSet],
        tasks: Sequence[Task],
        nodes: Indices,
        *,
        record: bool,
    ) -> list[Indices] | None:
        """Return the node sets to try for a part of a job, the best first; None if it requests no topology.

        With `record` the reasons are recorded in the job if there are none.
        """
        errors: list[JobFitError] = job.fit_errors if record else []
        constraint = part.constraint
        if constraint is None or not constraint.topology:
            return None
        tree = self._trees.get(constraint.topology)
        if tree is None:
            errors.append(simple(POD_SCHEDULING_ERRORS, f"Requested topology {constraint.topology} does not exist"))
            return []
        start, valid = _common_domain(tree, constraint, nodes, self._table)
        if start is None:
            return []
        for domain in tree.domains():
            domain.n_pods = _NOT_SET
            domain.free = np.zeros(len(self._table.resources))
        self._sum_free(start)
        if _alike(tasks):
            self._count_pods(tasks, start)
        asked = np.sum([task.request for task in tasks], axis=0)
        wanted = _TotalRequest(asked, len(tasks))
        if not _fits(wanted, start):
            where = "in the cluster" if start.id == ROOT else f"in {start.id}"
            errors.append(_no_match(job, part, tree, f": not enough resources {where} to allocate the job"))
            return []
        depth = constraint.preferred or constraint.required
        _sort(asked, start, depth)
        if constraint.preferred:
            self._scores[part.name] = _scores_of(start, constraint.preferred)
        chosen, refused = _candidates(part, pod_sets, wanted, tree)
        if not chosen and refused is not None and record:
            errors += [_fit_error(wanted, domain, part.name, self._table.resources) for domain in refused]
            errors.append(_no_match(job, part, tree, ""))
        order = [d for d in _bottom_up(tree.root) if id(d) in {id(c) for c in chosen}]
        return [np.array([i for i in sorted(domain.nodes) if i in valid], dtype=np.intp) for domain in order]

    @property
    def has_scores(self) -> bool:
        """Whether a part of the job being placed prefers some nodes."""
        return bool(self._scores)

    def add_scores(self, score: Vector, task: Task, job: Job, nodes: Indices) -> Vector:
        """Add the scores for the part that a pod belongs to; nodes without a score are excluded."""
        if not self._scores:
            return score
        own = job.pod_sets[task.pod_set]
        around = next(around for pod_set, around in job.root.paths() if pod_set is own)
        for name in (own.name, *(part.name for part in around)):
            found = self._scores.get(name)
            if found is not None:
                return np.asarray(score + np.array([found.get(int(i), -np.inf) for i in nodes]))
        return score

    def _sum_free(self, domain: Domain) -> Vector:
        table = self._table
        if not domain.children:
            domain.free = table.idle[domain.nodes].sum(axis=0) + table.releasing[domain.nodes].sum(axis=0)
        else:
            domain.free = np.sum([self._sum_free(child) for child in domain.children], axis=0)
        return domain.free

    def _count_pods(self, tasks: Sequence[Task], domain: Domain) -> int:
        largest = np.max([task.request for task in tasks], axis=0)
        return self._count_below(largest, len(tasks), domain)

    def _count_below(self, largest: Vector, n_tasks: int, domain: Domain) -> int:
        if domain.children:
            domain.n_pods = sum(self._count_below(largest, n_tasks, child) for child in domain.children)
        else:
            domain.n_pods = sum(self._room(largest, n_tasks, i) for i in domain.nodes)
        return domain.n_pods

    def _room(self, largest: Vector, n_tasks: int, i: int) -> int:
        """Return how many pods of the largest size fit on a node."""
        one_pod = np.zeros(len(largest))
        one_pod[PODS] = 1
        if (largest <= one_pod).all():
            return n_tasks
        free = self._table.idle[i] + self._table.releasing[i]
        if 0 < largest[GPU] < 1 and i in self._table.shared:
            free[GPU] += self._table.shared[i].free_fractions()
        if not (largest <= free).all():
            return 0
        asked = largest > 0
        return int((free[asked] / largest[asked]).astype(np.int64).min()) if asked.any() else n_tasks


def _common_domain(
    tree: _Tree, constraint: TopologyConstraint, nodes: Indices, table: NodeTable
) -> tuple[Domain | None, set[int]]:
    """Return the lowest domain that contains all of some nodes, and those of them that belong to the topology."""
    valid = [int(i) for i in nodes if tree.part_of[i]]
    values: list[str] = []
    level_of = ROOT
    for level in tree.levels:
        found = {table.nodes[i].labels[level] for i in valid}
        if len(found) != 1 or "" in found:
            break
        values.append(found.pop())
        level_of = level
        if level == constraint.preferred:
            break
    id_ = ".".join(values) if values else ROOT
    return tree.by_level.get(level_of if values else ROOT, {}).get(id_), set(valid)


def _alike(tasks: Sequence[Task]) -> bool:
    """Return whether pods request the same kinds of resources, so that the largest stands for all."""
    with_gpu = sum(task.gpu.gpus > 0 for task in tasks)
    if with_gpu not in (0, len(tasks)):
        return False
    counts = np.sum([task.request > 0 for task in tasks], axis=0)
    others = [r for r in range(len(counts)) if r not in (CPU, MEMORY, GPU)]
    return all(counts[r] in (0, len(tasks)) for r in others)


def _fits(wanted: _TotalRequest, domain: Domain) -> bool:
    asked, n_tasks = wanted
    return domain.n_pods >= n_tasks if domain.n_pods != _NOT_SET else _ratio(asked, domain) <= 1


def _fit_error(wanted: _TotalRequest, domain: Domain, part: str, index: ResourceIndex) -> JobFitError:
    asked, n_tasks = wanted
    short = [f"node-group {domain.id} can allocate only {domain.n_pods} of {n_tasks} required pods"]
    detailed: list[str] = []
    if domain.n_pods == _NOT_SET:
        short, detailed = lacking_in_domain(domain.id, asked, domain.free, index)
    return JobFitError(NOT_ENOUGH_RESOURCES, tuple(short), tuple(detailed), part, domain.id)


def _ratio(asked: Vector, domain: Domain) -> float:
    """Return the largest fraction that a request takes of the free resources of a domain."""
    largest = 0.0
    if (asked <= 0).all():
        return largest
    for r in np.flatnonzero(asked > 0):
        if r != PODS:
            free = domain.free[r]
            largest = max(largest, _NOT_IN_DOMAIN if free <= 0 else asked[r] / free)
    return float(largest)


def _sort(asked: Vector, domain: Domain, depth: str) -> None:
    if not depth:
        return
    domain.children.sort(key=lambda child: (-_ratio(asked, child), child.id))
    if domain.level != depth:
        for child in domain.children:
            _sort(asked, child, depth)


def _scores_of(start: Domain, level: str) -> dict[int, float]:
    ordered = list(_at_level(start, level))
    worth: dict[int, float] = {}
    for number, domain in enumerate(ordered, start=1):
        score = math.floor(number / len(ordered) * _BEST) * scores.TOPOLOGY
        worth.update(dict.fromkeys(domain.nodes, score))
    return worth


def _at_level(domain: Domain, level: str) -> Iterator[Domain]:
    if domain.level == level:
        yield domain
    else:
        for child in domain.children:
            yield from _at_level(child, level)


def _candidates(
    part: Part, pod_sets: Mapping[str, PodSet], wanted: _TotalRequest, tree: _Tree
) -> tuple[list[Domain], list[Domain] | None]:
    """Return the domains that fit, and those of the widest level that do not; None for a level that does not exist."""
    assert part.constraint is not None
    levels = _relevant_levels(part.constraint, tree)
    if levels is None:
        return [], None
    required = part.constraint.required
    held = {
        task.node
        for pod_set in pod_sets.values()
        for task in pod_set.tasks.values()
        if task.status & ACTIVE_ALLOCATED_STATUSES
    }
    bound = required != "" and any(pod_set.n_allocated > 0 for pod_set in pod_sets.values())
    allowed: set[int] | None = None
    if bound:
        allowed = set()
        for domain in tree.by_level.get(required, {}).values():
            if not held.isdisjoint(domain.members):
                allowed.update(id(below) for below in _below(domain))
    found: list[Domain] = []
    refused: list[Domain] = []
    for level in levels:
        for id_ in sorted(tree.by_level.get(level, {})):
            domain = tree.by_level[level][id_]
            if allowed is not None and id(domain) not in allowed:
                continue
            if _fits(wanted, domain):
                found.append(domain)
            elif level == levels[-1]:
                refused.append(domain)
    return found, refused


def _below(domain: Domain) -> Iterator[Domain]:
    yield domain
    for child in domain.children:
        yield from _below(child)


def _relevant_levels(constraint: TopologyConstraint, tree: _Tree) -> list[str] | None:
    """Return the levels from the preferred, or the required, up to the required one; to the root without one."""
    found: list[str] = []
    required_seen = preferred_seen = False
    for level in (*reversed(tree.levels), ROOT):
        preferred_seen = preferred_seen or level == constraint.preferred
        required_seen = required_seen or level == constraint.required
        if preferred_seen or required_seen:
            found.append(level)
        if required_seen:
            break
    if (constraint.required and not required_seen) or (constraint.preferred and not preferred_seen) or not found:
        return None
    return found


def _bottom_up(root: Domain) -> list[Domain]:
    levels: list[list[Domain]] = [[root]]
    while levels[-1]:
        levels.append([child for domain in levels[-1] for child in domain.children])
    return [domain for level in reversed(levels) for domain in level]


def _no_match(job: Job, part: Part, tree: _Tree, suffix: str) -> JobFitError:
    assert part.constraint is not None
    of_part = f", subgroup {part.name}" if part.name not in ("", "default") else ""
    return simple(
        POD_SCHEDULING_ERRORS,
        f"topology {tree.name}, requirement {part.constraint.required} couldn't be satisfied for "
        f"job <{job.group.namespace}/{job.name}>{of_part}{suffix}",
    )
