"""The quotas that a search may change: GPU guarantees and limits of the queues that a load uses."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from apportion_compiler.backends.partitions import partitions_of, queue_names
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.ir.program import Program
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU
from apportion_review.advise.goals import Goal
from apportion_review.advise.problem import Problem, Variable, Vector
from apportion_review.fit.quota_edits import QuotaEdit
from apportion_runtime.sim.report.report import Report
from apportion_runtime.sim.report.summary import Summary, upwards

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
        share: The cluster's share of the GPUs in the policy.
    """

    queue: str
    field: str
    resource: str
    present: int
    share: Fraction

    def edit(self, n_gpus: int) -> QuotaEdit:
        """Return the edit of the policy that results in a number of GPUs on the cluster.

        A share of a guarantee is rounded down, and one of a limit up.
        """
        declared = n_gpus / self.share
        whole = math.floor(declared) if self.field == LIMIT else math.ceil(declared)
        return QuotaEdit(self.queue, self.field, self.resource, whole * _DEVICE)


@dataclass(frozen=True, slots=True)
class ParentGuarantee:
    """The guarantee of a queue with children.

    Attributes:
        queue: Id of the queue.
        children: Ids of its children.
        quota: Its declared guarantee; None if it is the sum of its children's.
        slack: GPUs of the declared guarantee beyond that sum.
    """

    queue: str
    children: tuple[str, ...]
    quota: SearchedQuota | None
    slack: int


@dataclass(frozen=True, slots=True)
class SearchedQuotas:
    """The quotas of a search, the guarantees of parents that follow from them, and what is not searched.

    Attributes:
        quotas: In the order of the problem's variables.
        problem: The integers to choose: GPUs.
        parents: The queues with children, children before their parents.
        notes: Why a queue's quota is not searched.
    """

    quotas: tuple[SearchedQuota, ...]
    problem: Problem
    parents: tuple[ParentGuarantee, ...]
    notes: tuple[str, ...]

    def edits(self, vector: Vector) -> tuple[QuotaEdit, ...]:
        """Return the edits of quotas for a vector, which may go on with the sizes of pools.

        A parent is raised only if its children exceed it.
        """
        changed = [
            (quota, number) for quota, number in zip(self.quotas, vector, strict=False) if number != quota.present
        ]
        made = [quota.edit(number) for quota, number in changed]
        changes = {quota.queue: number - quota.present for quota, number in changed if quota.field == GUARANTEED}
        for parent in self.parents:
            change = sum(changes.get(child, 0) for child in parent.children)
            if parent.quota is not None:
                change = max(0, change - parent.slack) if change > 0 else 0 if parent.slack else change
                if change:
                    made.append(parent.quota.edit(parent.quota.present + change))
            changes[parent.queue] = change
        return tuple(made)


def simulated_names(program: Program, summary: Summary) -> dict[str, tuple[str, str | None]]:
    """Return the name of each queue in a simulation, and the GPU model if its engine divides queues by model."""
    simulated = {each.name for each in summary.queues}
    return {id_: (name, model) for id_, name, model in _names(program) if name in simulated}


def possible_names(program: Program) -> set[str]:
    """Return the names by which goals may refer to a queue of the policy."""
    return {queue.id for queue in program.queues} | {name for _, name, _ in _names(program)}


def _names(program: Program) -> Iterator[tuple[str, str, str | None]]:
    """Yield the id of each queue in each partition, with its name and the GPU model."""
    partitions, root = partitions_of(program), TRAITS[program.engine].path_root
    for partition, names in zip(partitions, queue_names(program, partitions), strict=True):
        for queue in program.queues:
            if all(id_ in names for id_ in queue.path):
                path = names[queue.id] if root is None else ".".join((root, *(names[id_] for id_ in queue.path)))
                yield queue.id, path, partition.model


def named_as_simulated(goal: Goal, names: Mapping[str, tuple[str, str | None]], summary: Summary) -> Goal:
    """Return a goal whose queue has the name of the simulation; the policy's id is accepted as well."""
    if goal.queue is not None and goal.queue in names and not any(each.name == goal.queue for each in summary.queues):
        return replace(goal, queue=names[goal.queue][0])
    return goal


def searched_quotas(
    graph: PolicyGraph,
    scope: Scope,
    report: Report,
    names: Mapping[str, tuple[str, str | None]],
    *,
    goals: Sequence[Goal],
    kept: Collection[str],
) -> SearchedQuotas:
    """Return the quotas of the queues that a load uses.

    Args:
        graph: The graph of the policy.
        scope: The cluster.
        report: The simulation of the policy as it is.
        names: The simulated queues, from `simulated_names`.
        goals: The goals, with the names of the simulation.
        kept: Ids of queues whose quotas are not changed.
    """
    peaks = {each.queue: math.ceil(max((value for _, value in each.requested), default=0.0)) for each in report.series}
    notes: list[str] = []
    found: list[tuple[SearchedQuota, int]] = []
    for field in (GUARANTEED, LIMIT):
        for id_, (name, model) in names.items():
            peak = peaks.get(name, 0)
            if id_ in kept or (field == GUARANTEED and graph.nodes[id_].children):
                continue
            quota = _quota(graph, scope, id_, model, field)
            if isinstance(quota, str):
                notes.append(f"the {field if field == LIMIT else 'guarantee'} of {id_} is left unchanged: {quota}")
            elif quota is not None and (quota.present < peak or (field == GUARANTEED and quota.present)):
                found.append((quota, max(quota.present, peak)))
    guarantees = {index: quota for index, (quota, _) in enumerate(found) if quota.field == GUARANTEED}
    variables = tuple(
        Variable(quota.present, min(quota.present, 1), most, _rivals(index, guarantees))
        if quota.field == GUARANTEED
        else Variable(quota.present, quota.present, most)
        for index, (quota, most) in enumerate(found)
    )
    quotas = tuple(quota for quota, _ in found)
    problem = Problem(
        variables,
        tuple(tuple(_helpful(goal, quotas, names, report.summary)) for goal in goals),
        # The waits of a queue are shortest if it has everything; evictions depend on the other queues as well.
        tuple(goal.measure.is_wait and goal.queue is not None for goal in goals),
    )
    return SearchedQuotas(quotas, problem, tuple(_parents(graph, scope, names)), tuple(notes))


def _rivals(index: int, guarantees: Mapping[int, SearchedQuota]) -> tuple[int, ...]:
    """Return the guarantees from which GPUs can be taken: those of the same model, or of any."""
    resource = guarantees[index].resource
    return tuple(
        other
        for other, quota in guarantees.items()
        if other != index and (GPU in (resource, quota.resource) or quota.resource == resource)
    )


def _quota(graph: PolicyGraph, scope: Scope, id_: str, model: str | None, field: str) -> SearchedQuota | str | None:
    """Return a quota of a queue, None without one, or the reason why an edit of the queue does not determine it."""
    declared = getattr(graph.nodes[id_].queue, field)
    here = getattr(scope.values[id_], field)
    if field == LIMIT and not any(key == GPU or key.startswith(f"{GPU}/") for key in here):
        return None
    if any(key == field or key.startswith(f"{field}/{GPU}") for key in scope.values[id_].sources):
        return "an override sets it"
    if declared is not None and declared.machines is not None:
        return "it is declared as a number of machines"
    models: list[str] = []
    if declared is not None and isinstance(declared.gpu, Mapping):
        models.extend(declared.gpu)
    if model is None and len(models) > 1:
        return "it covers several GPU models"
    resource = GPU if model is None and not models else f"{GPU}/{model or models[0]}"
    if field == LIMIT and resource not in here:
        return None
    present = here.get(resource, 0)
    if isinstance(present, Unlimited):
        return "it is unlimited"
    return SearchedQuota(id_, field, resource, int(present) // _DEVICE, _share(scope))


def _share(scope: Scope) -> Fraction:
    return Fraction(1) if scope.cluster is None else Fraction(scope.cluster.share)


def _helpful(
    goal: Goal,
    quotas: Sequence[SearchedQuota],
    names: Mapping[str, tuple[str, str | None]],
    summary: Summary,
) -> Iterator[int]:
    """Yield the quotas whose increase may help a goal: those of its queue, of queues below it, and limits above it."""
    parents = {each.name: each.parent for each in summary.queues}
    for index, quota in enumerate(quotas):
        name = names[quota.queue][0]
        is_above = quota.field == LIMIT and goal.queue is not None and name in upwards(goal.queue, parents)
        if goal.queue is None or goal.queue in upwards(name, parents) or is_above:
            yield index


def _parents(
    graph: PolicyGraph, scope: Scope, names: Mapping[str, tuple[str, str | None]]
) -> Iterator[ParentGuarantee]:
    for id_ in reversed(list(names)):
        node = graph.nodes[id_]
        if not node.children:
            continue
        quota = _quota(graph, scope, id_, names[id_][1], GUARANTEED)
        if not isinstance(quota, SearchedQuota) or quota.resource not in scope.values[id_].declared:
            yield ParentGuarantee(id_, tuple(node.children), None, 0)
            continue
        below = (scope.values[child].guaranteed.get(quota.resource, 0) for child in node.children)
        total = sum(int(amount) // _DEVICE for amount in below if not isinstance(amount, Unlimited))
        yield ParentGuarantee(id_, tuple(node.children), quota, max(0, quota.present - total))
