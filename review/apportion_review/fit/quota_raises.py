"""The smallest raise of quotas with which a workload starts: of limits, of guarantees, or of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.explain import explain_queue
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.plain_objects import Manifest
from apportion_policy.policy import Policy
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text
from apportion_review.fit.clusters import Compile, ObservedCluster
from apportion_review.fit.probe import Probe
from apportion_review.fit.quota_edits import QuotaEdit, edited
from apportion_review.fit.records import Change, ChangeKind, Decision, Outcome
from apportion_runtime.core.search_limit import SearchLimit

_GUARANTEED, _LIMIT = "guaranteed", "limit"
_UNITS = {CPU: 1000, MEMORY: 1024**3}
_GPU_UNIT = 1000
MAX_EVICTIONS = 20_000
"""Maximum number of simulated evictions for the decisions on all raises together."""
_MAX_SEARCHED = 1000
"""Maximum number of a snapshot's workloads for a search; beyond it, only the computed raise is verified."""


@dataclass(frozen=True, slots=True)
class QuotaSearch:
    """The inputs of a search for a raise.

    Attributes:
        policy: The policy.
        graph: Its graph.
        scope: The cluster's scope.
        compile: Compiles the cluster under another policy.
        queue: Id of the workload's queue.
        used: Usage of each queue by resource, in base units, including descendants.
        asked: Requests of the workload, likewise.
        limit: Limit of the victim searches of all decisions together.
    """

    policy: Policy
    graph: PolicyGraph
    scope: Scope
    compile: Compile
    queue: str
    used: Mapping[str, Mapping[str, int]]
    asked: Mapping[str, int]
    limit: SearchLimit


def quota_changes(
    search: QuotaSearch, observed: ObservedCluster, workload: Manifest, *, may_evict: bool
) -> Iterator[Change]:
    """Yield the first raise that suffices: of limits, of guarantees, of both.

    A raise without evictions is preferred to one with evictions, which requires `may_evict`.
    """
    limits, guarantees = list(_limits(search)), list(_guarantees(search))
    plans = [plan for plan in (limits, guarantees) if plan]
    if len(plans) > 1:
        plans.append([*limits, *guarantees])
    with_evictions: tuple[Sequence[_Raise], Decision] | None = None
    for plan in plans:
        decision = _decision(search, observed, workload, [raise_.to(0) for raise_ in plan])
        if decision is None:
            continue
        if decision.outcome is Outcome.NOW:
            yield _change(search, observed, workload, plan, decision)
            return
        if with_evictions is None and may_evict and decision.outcome is Outcome.AFTER_EVICTIONS:
            with_evictions = plan, decision
    if with_evictions is not None:
        yield _change(search, observed, workload, *with_evictions)


def _change(
    search: QuotaSearch, observed: ObservedCluster, workload: Manifest, plan: Sequence[_Raise], decision: Decision
) -> Change:
    """Return the smallest raise of a plan with the outcome of the full raise."""
    edits = [raise_.to(0) for raise_ in plan]
    if len(observed.workloads()) <= _MAX_SEARCHED:
        edits, decision = _smallest(search, observed, workload, plan, decision)
    first, *others = sorted(edits, key=lambda edit: (edit.queue != search.queue, edit.field))
    return Change(
        ChangeKind.QUOTA,
        first.queue,
        first.field,
        first.resource,
        _present(search, first),
        amount_text(first.resource, first.amount),
        _line(search, first),
        tuple(_clause(search, edit) for edit in others),
        len(decision.victims),
    )


def _smallest(
    search: QuotaSearch, observed: ObservedCluster, workload: Manifest, plan: Sequence[_Raise], decision: Decision
) -> tuple[list[QuotaEdit], Decision]:
    """Lower all raises of a plan together, then each of them alone, as far as the outcome is the same."""
    below = [0] * len(plan)

    def lower(indices: Sequence[int], most: int) -> None:
        nonlocal below, decision
        low, high = min(below[index] for index in indices), most
        while high - low > 1:
            middle = (low + high) // 2
            tried = list(below)
            for index in indices:
                # Together, each raise is kept at one step at least.
                tried[index] = middle if len(indices) == 1 else min(middle, plan[index].n_steps - 1)
            edits = _edits(plan, tried)
            found = _decision(search, observed, workload, edits) if edits else None
            if found is not None and found.outcome is decision.outcome:
                low, below, decision = middle, tried, found
            else:
                high = middle

    lower(range(len(plan)), max(raise_.n_steps for raise_ in plan))
    if len(plan) > 1:
        for index, raise_ in enumerate(plan):
            lower([index], raise_.n_steps + 1)
    return _edits(plan, below), decision


def _edits(plan: Sequence[_Raise], below: Sequence[int]) -> list[QuotaEdit]:
    """Return the edits of a plan, each some steps below the sufficient amount; one without an increase is left out."""
    return [raise_.to(steps) for raise_, steps in zip(plan, below, strict=True) if steps < raise_.n_steps]


@dataclass(frozen=True, slots=True)
class _Raise:
    """A raise from the current amount to one that certainly suffices, in steps."""

    queue: str
    field: str
    resource: str
    present: int
    needed: int
    unit: int

    @property
    def n_steps(self) -> int:
        return -(-(self.needed - self.present) // self.unit)

    def to(self, below: int) -> QuotaEdit:
        """Return the edit to some steps below the sufficient amount, but at least one step above the current one."""
        amount = max(self.present + self.unit, self.needed - below * self.unit)
        return QuotaEdit(self.queue, self.field, self.resource, min(amount, max(self.needed, self.present + self.unit)))


def _limits(search: QuotaSearch) -> Iterator[_Raise]:
    """Yield the raises of the limits on the path to the root that the workload exceeds."""
    for queue in search.graph.nodes[search.queue].path:
        for resource, limit in search.scope.values[queue].limit.items():
            asked = _asked(search, resource)
            needed = search.used.get(queue, {}).get(resource, 0) + asked
            if not isinstance(limit, Unlimited) and asked and needed > limit:
                yield _Raise(queue, _LIMIT, resource, limit, needed, _UNITS.get(resource, _GPU_UNIT))


def _guarantees(search: QuotaSearch) -> Iterator[_Raise]:
    """Yield the raises of the guarantee, and of ancestors' guarantees that the children's would exceed."""
    path = search.graph.nodes[search.queue].path
    values = search.scope.values
    for resource in _counted(search):
        asked = _asked(search, resource)
        held = values[search.queue].guaranteed.get(resource, 0)
        needed = search.used.get(search.queue, {}).get(resource, 0) + asked
        if isinstance(held, Unlimited) or not asked or needed <= held:
            continue
        unit = _UNITS.get(resource, _GPU_UNIT)
        yield _Raise(search.queue, _GUARANTEED, resource, held, needed, unit)
        more = needed - held
        for ancestor in reversed(path[:-1]):
            own = values[ancestor].guaranteed.get(resource, 0)
            if resource not in values[ancestor].declared or isinstance(own, Unlimited):
                continue
            children = [values[child].guaranteed.get(resource, 0) for child in search.graph.nodes[ancestor].children]
            total = sum(amount for amount in children if not isinstance(amount, Unlimited)) + more
            if total <= own:
                break
            more = total - own
            yield _Raise(ancestor, _GUARANTEED, resource, own, total, unit)


def _counted(search: QuotaSearch) -> list[str]:
    """Return the resources in which the guarantee of the queue or of its siblings is declared."""
    own = [name for name in search.scope.values[search.queue].declared if name in search.asked]
    return (
        own
        or [name for name in (GPU, *search.asked) if any(name in v.declared for v in search.scope.values.values())][:1]
    )


def _asked(search: QuotaSearch, resource: str) -> int:
    return search.asked.get(resource, 0)


def _decision(
    search: QuotaSearch, observed: ObservedCluster, workload: Manifest, edits: Sequence[QuotaEdit]
) -> Decision | None:
    """Return the decision under a policy with different amounts; None if the policy has errors."""
    try:
        compiled = search.compile(edited(search.policy, edits))
    except ValueError:
        return None
    return None if compiled is None else Probe(lambda: observed.build(compiled), search.limit).decide(workload)


def _present(search: QuotaSearch, edit: QuotaEdit) -> str:
    values = search.scope.values[edit.queue]
    held = (values.limit if edit.field == _LIMIT else values.guaranteed).get(edit.resource)
    is_declared = edit.field == _LIMIT or edit.resource in values.declared
    return "" if held is None or not is_declared else amount_text(edit.resource, held)


def _line(search: QuotaSearch, edit: QuotaEdit) -> str:
    explained = explain_queue(search.graph, search.scope, edit.queue)
    named = f"{edit.field} {edit.resource}"
    at = next((value.at for value in explained.values if value.field == named and value.at.line), explained.at)
    return f"{at.file}:{at.line}" if at.line else ""


def _clause(search: QuotaSearch, edit: QuotaEdit) -> str:
    at = _line(search, edit)
    text = f"{edit.field} of {edit.queue} to {amount_text(edit.resource, edit.amount)}"
    return f"{text} ({at})" if at else text
