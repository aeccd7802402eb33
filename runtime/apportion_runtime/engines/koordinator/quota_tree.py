"""The group quota manager of one tree: requests and usage of every quota, and its runtime quota.

A runtime quota is refreshed along the path of one quota, when one of its pods is scheduled or the controller refreshes all;
in between, it keeps its value. With scaled minima, this also holds for the scaled minimum of a quota, which the division
among its siblings uses.

Source: pkg/scheduler/plugins/elasticquota/core (group_quota_manager.go, runtime_quota_calculator.go,
scale_minquota_when_over_root_res.go) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from apportion_runtime.engines.koordinator.division import Member, redistribute
from apportion_runtime.engines.koordinator.quota_specs import QuotaSpec
from apportion_runtime.snapshots.pod_requests import Amounts


@dataclass(slots=True)
class QuotaState:
    """A quota: `used` and `requested` include its descendants.

    Attributes:
        spec: Its declaration.
        children: Its children.
        asked: The requests of its own pods and the limited requests of its children.
        requested: `asked`, or its guarantee if that is more and not lent.
        limited: `requested`, up to its `max`: what it requests from its parent.
        used: The requests of its assigned pods.
        fixed: The part of `used` that is not preemptible.
        scaled: Its guarantee, scaled down if the guarantees of its siblings exceed what their parent has.
        runtime: Its runtime quota as of the last refresh.
        version: Counts the changes that affect the division among its children.
        n_amounts: Counts the changes of `asked` and `used`.
    """

    spec: QuotaSpec
    children: list[QuotaState] = field(default_factory=list["QuotaState"])
    asked: dict[str, int] = field(default_factory=dict[str, int])
    requested: dict[str, int] = field(default_factory=dict[str, int])
    limited: dict[str, int] = field(default_factory=dict[str, int])
    used: dict[str, int] = field(default_factory=dict[str, int])
    fixed: dict[str, int] = field(default_factory=dict[str, int])
    scaled: Amounts = field(default_factory=dict[str, int])
    runtime: Mapping[str, int] = field(default_factory=dict[str, int])
    version: int = 0
    n_amounts: int = 0
    declared: dict[str, int] = field(default_factory=dict[str, int])
    """The sum of the guarantees of its children, as far as it was needed."""
    refreshed: tuple[int, Amounts] | None = None
    """The version of its parent, and what it divided, at the last refresh of its runtime quota."""
    would_be: tuple[int, Amounts, Mapping[str, int]] | None = None
    """The same, and the runtime quota, when it was last computed without storing it."""
    _divided: tuple[int, Amounts, Mapping[str, Mapping[str, int]]] | None = None

    def masked(self, request: Amounts) -> dict[str, int]:
        """Return the resources of a request that it counts."""
        return {name: amount for name, amount in request.items() if name in self.spec.maximum}

    def division(self, total: Amounts) -> Mapping[str, Mapping[str, int]]:
        """Return the runtime quota of each child, by resource.

        Args:
            total: What the children divide.
        """
        known = self._divided
        if known is None or known[0] != self.version or known[1] != total:
            known = self._divided = (self.version, total, self._divide(total))
        return known[2]

    def _divide(self, total: Amounts) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {child.spec.name: {} for child in self.children}
        for resource in self.spec.maximum:
            members = [
                Member(
                    child.spec.name,
                    child.scaled.get(resource, 0),
                    child.limited.get(resource, 0),
                    child.spec.weights.get(resource, 0),
                    lends=child.spec.lends,
                )
                for child in self.children
            ]
            for name, amount in redistribute(total.get(resource, 0), members).items():
                found[name][resource] = amount
        return found


class QuotaTree:
    """The quotas of one tree.

    `n_changes` counts the changes that affect any runtime quota at its next refresh, and `n_scalings` those of a scaled
    guarantee by a refresh.

    Args:
        specs: Its quotas, parents first. Those named in `own` have no runtime quota, and the others divide what they do
            not use.
        own: The default and the system quota.
        scales_min: Whether guarantees are scaled down if they exceed what their parent has.
    """

    def __init__(self, specs: Iterable[QuotaSpec], *, own: frozenset[str] = frozenset(), scales_min: bool) -> None:
        self._own, self._scales_min = own, scales_min
        self.root = QuotaState(QuotaSpec("", None, is_parent=True))
        self.states: dict[str, QuotaState] = {}
        self._capacity: Amounts = {}
        self._total: dict[str, int] | None = None
        self._paths: dict[str, tuple[QuotaState, ...]] = {}
        self.n_changes = 0
        self.n_scalings = 0
        for spec in specs:
            state = self.states[spec.name] = QuotaState(spec, scaled=spec.minimum)
            self.parent_of(state).children.append(state)
            self._add_request(spec.name, {})
        counted = [state.spec.maximum for name, state in self.states.items() if name not in own]
        self.root.spec = replace(self.root.spec, maximum={name: 0 for maximum in counted for name in maximum})

    def parent_of(self, state: QuotaState) -> QuotaState:
        """Return the parent of a quota."""
        return self.root if state.spec.parent is None else self.states[state.spec.parent]

    def upward(self, name: str) -> Iterator[QuotaState]:
        """Yield a quota and its ancestors, without the root."""
        at: str | None = name
        while at is not None:
            state = self.states[at]
            yield state
            at = state.spec.parent

    def set_capacity(self, capacity: Amounts) -> None:
        """Set the capacity that the tree divides, without the usage of the default and system quotas.

        A resource of which the last node has left stays, with none of it (group_quota_manager.go, OnNodeDelete).
        """
        capacity = {**dict.fromkeys(self._capacity, 0), **capacity}
        if self._capacity != capacity:
            self._capacity = capacity
            self._total = None
            self.n_changes += 1

    def set_minimum(self, name: str, minimum: Amounts) -> None:
        """Change the guarantee of the root of a tree, which is the capacity of its nodes."""
        state = self.states[name]
        if state.scaled != minimum:
            state.scaled = dict(minimum)
            self._invalidate(self.parent_of(state))

    @property
    def total(self) -> dict[str, int]:
        """The total that the quotas divide."""
        found = self._total
        if found is None:
            found = self._total = dict(self._capacity)
            for name in self._own:
                for resource, amount in self.states[name].used.items():
                    found[resource] = found.get(resource, 0) - amount
        return found

    def add_pod(self, name: str, request: Amounts) -> None:
        """Add the request of a new pod of a quota."""
        self._add_request(name, self.states[name].masked(request))

    def remove_pod(self, name: str, request: Amounts) -> None:
        """Remove the request of a pod."""
        self._add_request(name, {key: -amount for key, amount in self.states[name].masked(request).items()})

    def reserve(self, name: str, request: Amounts, *, is_fixed: bool) -> None:
        """Charge an assigned pod to a quota and its ancestors."""
        self._use(name, request, 1, is_fixed=is_fixed)

    def unreserve(self, name: str, request: Amounts, *, is_fixed: bool) -> None:
        """Release an assigned pod."""
        self._use(name, request, -1, is_fixed=is_fixed)

    def _use(self, name: str, request: Amounts, sign: int, *, is_fixed: bool) -> None:
        masked = self.states[name].masked(request)
        if name in self._own:
            self.n_changes += 1
            self._total = None
        for state in self.upward(name):
            for resource, amount in masked.items():
                state.used[resource] = state.used.get(resource, 0) + sign * amount
                state.n_amounts += 1
                if is_fixed:
                    state.fixed[resource] = state.fixed.get(resource, 0) + sign * amount

    def _add_request(self, name: str, delta: Amounts) -> None:
        for state in self.upward(name):
            spec = state.spec
            for resource, amount in delta.items():
                state.n_amounts += 1
                state.asked[resource] = state.asked.get(resource, 0) + amount
            state.requested = dict(state.asked)
            if not spec.lends:
                for resource, amount in spec.minimum.items():
                    state.requested[resource] = max(state.requested.get(resource, 0), amount)
            limited = {key: min(amount, spec.maximum.get(key, amount)) for key, amount in state.requested.items()}
            delta = {key: amount - state.limited.get(key, 0) for key, amount in limited.items()}
            state.limited = limited
            if any(delta.values()):
                self._invalidate(self.parent_of(state))

    def _invalidate(self, parent: QuotaState) -> None:
        parent.version += 1
        self.n_changes += 1

    def refresh(self, name: str) -> None:
        """Refresh the runtime quotas of a quota and its ancestors."""
        if name in self._own:
            return
        total: Amounts = self.total
        parent = self.root
        for state in self._downward(name):
            known = state.refreshed
            if known is None or known[0] != parent.version or (known[1] is not total and known[1] != total):
                if self._scales_min:
                    scaled = state.scaled
                    self._scale(state, parent, total)
                    self.n_scalings += state.scaled is not scaled
                state.refreshed = parent.version, total
                state.runtime = parent.division(total)[state.spec.name]
            total, parent = state.runtime, state

    def _downward(self, name: str) -> tuple[QuotaState, ...]:
        """Return the ancestors of a quota, the highest first, and the quota."""
        path = self._paths.get(name)
        if path is None:
            path = self._paths[name] = tuple(reversed(list(self.upward(name))))
        return path

    def current_runtime(self, name: str) -> Mapping[str, int]:
        """Return the runtime quota that a refresh would give a quota, without storing it."""
        if name in self._own:
            return self.states[name].runtime
        total: Amounts = self.total
        parent = self.root
        for state in self._downward(name):
            known = state.would_be
            if known is not None and known[0] == parent.version and (known[1] is total or known[1] == total):
                total = known[2]
            else:
                scaled, divided = state.scaled, total
                if self._scales_min:
                    self._scale(state, parent, total)
                total = parent.division(total)[state.spec.name]
                if state.scaled != scaled:
                    state.scaled = scaled
                    self._invalidate(parent)
                state.would_be = parent.version, divided, total
            parent = state
        return total

    def _scale(self, state: QuotaState, parent: QuotaState, total: Amounts) -> None:
        """Scale the guarantee of a quota to what its parent has."""
        minimum = dict(state.spec.minimum) if state.spec.minimum else dict(state.scaled)
        for resource, available in total.items():
            guaranteed = parent.declared.get(resource)
            if guaranteed is None:
                guaranteed = sum(self._declared(sibling, resource) for sibling in parent.children)
                parent.declared[resource] = guaranteed
            if available < guaranteed:
                # The engine multiplies before it divides, in 64-bit floats, and truncates.
                own = float(self._declared(state, resource))
                minimum[resource] = int(float(available) * own / float(guaranteed)) if available > 0 else 0
        if minimum != state.scaled:
            state.scaled = minimum
            self._invalidate(parent)

    def _declared(self, state: QuotaState, resource: str) -> int:
        return state.spec.minimum.get(resource, 0)
