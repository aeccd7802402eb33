"""The quotas that a search may change: GPU guarantees and limits of the queues that a load uses."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.kubernetes_names import object_name
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU
from apportion_review.advise.goals import Goal
from apportion_review.advise.search import Problem, Variable, Vector
from apportion_review.fit.quota_edits import QuotaEdit
from apportion_runtime.sim.report.report import Report

GUARANTEED, LIMIT = "guaranteed", "limit"
_DEVICE = 1000


@dataclass(frozen=True, slots=True)
class SearchedQuota:
    """A guarantee or a limit of a queue.

    Attributes:
        queue: Id of the queue.
        field: `guaranteed` or `limit`.
        resource: `gpu` or `gpu/<model>`.
        present: GPUs on the cluster.
        declared: Thousandths of GPUs in the policy.
        share: The cluster's share of them.
    """

    queue: str
    field: str
    resource: str
    present: int
    declared: int
    share: Fraction

    def edit(self, n_gpus: int) -> QuotaEdit:
        """Return the edit of the policy that results in a number of GPUs on the cluster."""
        if n_gpus == self.present:
            return QuotaEdit(self.queue, self.field, self.resource, self.declared)
        return QuotaEdit(self.queue, self.field, self.resource, math.ceil(n_gpus / self.share) * _DEVICE)


@dataclass(frozen=True, slots=True)
class SearchedQuotas:
    """The quotas of a search, the guarantees of parents that follow from them, and what is not searched.

    Attributes:
        quotas: In the order of the problem's variables.
        problem: The integers to choose: GPUs.
        parents: Declared guarantees of parents, which follow the sum of their children.
        children: For each of `parents`, the indices of the guarantees below it.
        notes: Why a queue's quota is not searched.
    """

    quotas: tuple[SearchedQuota, ...]
    problem: Problem
    parents: tuple[SearchedQuota, ...]
    children: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...]

    def edits(self, vector: Vector) -> tuple[QuotaEdit, ...]:
        """Return the edits of the policy for a vector."""
        made = [q.edit(n) for q, n in zip(self.quotas, vector, strict=True) if n != q.present]
        present = self.problem.present
        for parent, below in zip(self.parents, self.children, strict=True):
            change = sum(vector[index] - present[index] for index in below)
            if change:
                made.append(parent.edit(max(0, parent.present + change)))
        return tuple(made)


def searched_quotas(
    graph: PolicyGraph, scope: Scope, report: Report, goals: Sequence[Goal], kept: Collection[str] = ()
) -> SearchedQuotas:
    """Return the quotas of the queues that a load uses.

    Args:
        graph: The graph of the policy.
        scope: The cluster.
        report: The simulation of the policy as it is.
        goals: The goals.
        kept: Ids of queues whose quotas are not changed.
    """
    names = _names(graph, scope, report)
    peaks = {each.queue: math.ceil(max((value for _, value in each.requested), default=0.0)) for each in report.series}
    notes: list[str] = []
    quotas: list[SearchedQuota] = []
    most: list[int] = []
    for id_, (name, model) in names.items():
        if graph.nodes[id_].children or id_ in kept:
            continue
        found = _guarantee(graph, scope, id_, model)
        if isinstance(found, str):
            notes.append(f"the guarantee of {id_} is not changed: {found}")
        elif peaks.get(name) or found.present:
            quotas.append(found)
            most.append(max(found.present, peaks.get(name, 0)))
    n_guarantees = len(quotas)
    for id_, (name, model) in names.items():
        limit = None if id_ in kept else _limit(graph, scope, id_, model)
        if limit is not None and limit.present < peaks.get(name, 0):
            quotas.append(limit)
            most.append(peaks[name])
    rivals = range(n_guarantees)
    variables = tuple(
        Variable(
            quota.present,
            min(quota.present, 1) if index < n_guarantees else quota.present,
            most[index],
            tuple(other for other in rivals if other != index) if index < n_guarantees else (),
        )
        for index, quota in enumerate(quotas)
    )
    helpful = tuple(tuple(_helpful(goal, quotas, graph, names)) for goal in goals)
    # The waits of a queue are shortest if it has everything; evictions depend on the other queues as well.
    is_monotonic = tuple(goal.measure.is_wait and goal.queue is not None for goal in goals)
    parents, children = _parents(graph, scope, quotas[:n_guarantees])
    return SearchedQuotas(tuple(quotas), Problem(variables, helpful, is_monotonic), parents, children, tuple(notes))


def _names(graph: PolicyGraph, scope: Scope, report: Report) -> Mapping[str, tuple[str, str | None]]:
    """Return the simulated queue of each queue, and the GPU model if the queues of the simulation count only one."""
    simulated = {each.name for each in report.summary.queues}
    found: dict[str, tuple[str, str | None]] = {}
    for id_ in graph.nodes:
        if object_name(id_) in simulated:
            found[id_] = object_name(id_), None
            continue
        for model in _models(scope, id_):
            if (name := object_name(f"{id_}-{model}")) in simulated:
                found[id_] = name, model
    return found


def _models(scope: Scope, id_: str) -> Iterator[str]:
    for resource in scope.values[id_].guaranteed:
        if resource.startswith(f"{GPU}/"):
            yield resource.partition("/")[2]


def _guarantee(graph: PolicyGraph, scope: Scope, id_: str, model: str | None) -> SearchedQuota | str:
    """Return the guarantee of a queue, or the reason why an edit of the queue does not determine it."""
    found = _quota(graph, scope, id_, model, GUARANTEED)
    return found if found is not None else "it is not a number"


def _limit(graph: PolicyGraph, scope: Scope, id_: str, model: str | None) -> SearchedQuota | None:
    """Return the limit of a queue; None without one, or if an edit of the queue does not determine it."""
    if not any(key == GPU or key.startswith(f"{GPU}/") for key in scope.values[id_].limit):
        return None
    found = _quota(graph, scope, id_, model, LIMIT)
    return None if isinstance(found, str) else found


def _quota(graph: PolicyGraph, scope: Scope, id_: str, model: str | None, field: str) -> SearchedQuota | str | None:
    declared = getattr(graph.nodes[id_].queue, field)
    if any(key == field or key.startswith(f"{field}/{GPU}") for key in scope.values[id_].sources):
        return "an override sets it"
    if declared is not None and declared.machines is not None:
        return "it is counted in machines"
    own: list[str] = []
    if declared is not None and isinstance(declared.gpu, Mapping):
        own.extend(declared.gpu)
    if model is None and len(own) > 1:
        return "it counts several GPU models"
    resource = GPU if model is None and not own else f"{GPU}/{model or own[0]}"
    base = getattr(graph.base.values[id_], field).get(resource, 0)
    present = getattr(scope.values[id_], field).get(resource, 0)
    if isinstance(base, Unlimited) or isinstance(present, Unlimited):
        return None
    share = Fraction(1) if scope.cluster is None else Fraction(scope.cluster.share)
    return SearchedQuota(id_, field, resource, int(present) // _DEVICE, int(base), share)


def _helpful(
    goal: Goal,
    quotas: Sequence[SearchedQuota],
    graph: PolicyGraph,
    names: Mapping[str, tuple[str, str | None]],
) -> Iterator[int]:
    """Yield the quotas whose increase may help a goal: those of its queue, of queues below it, and limits above it."""
    owner = next((id_ for id_, (name, _) in names.items() if name == goal.queue), None)
    for index, quota in enumerate(quotas):
        path = graph.nodes[quota.queue].path
        above = () if owner is None else graph.nodes[owner].path
        if goal.queue is None or owner in path or (quota.field == LIMIT and quota.queue in above):
            yield index


def _parents(
    graph: PolicyGraph, scope: Scope, guarantees: Sequence[SearchedQuota]
) -> tuple[tuple[SearchedQuota, ...], tuple[tuple[int, ...], ...]]:
    found: dict[str, SearchedQuota] = {}
    below: dict[str, list[int]] = {}
    for index, quota in enumerate(guarantees):
        for ancestor in graph.nodes[quota.queue].path[:-1]:
            if quota.resource not in scope.values[ancestor].declared:
                continue
            base, present = (
                graph.base.values[ancestor].guaranteed.get(quota.resource, 0),
                scope.values[ancestor].guaranteed.get(quota.resource, 0),
            )
            if isinstance(base, Unlimited) or isinstance(present, Unlimited):
                continue
            found.setdefault(
                ancestor,
                SearchedQuota(ancestor, GUARANTEED, quota.resource, int(present) // _DEVICE, int(base), quota.share),
            )
            below.setdefault(ancestor, []).append(index)
    return tuple(found.values()), tuple(tuple(below[ancestor]) for ancestor in found)
