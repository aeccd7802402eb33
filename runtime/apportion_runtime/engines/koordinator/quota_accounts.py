"""The pods of the quotas: which quota counts a pod, and whether a pod may be scheduled within its quota.

Source: pkg/scheduler/plugins/elasticquota/plugin.go (PreFilter), plugin_helper.go (checkQuotaRecursive),
core/group_quota_manager.go (OnPodAdd, ReservePod) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from apportion_api.koordinator.names import DEFAULT_QUOTA, PREEMPTIBLE_LABEL, SYSTEM_QUOTA
from apportion_runtime.admission.objects import labels_of
from apportion_runtime.engines.koordinator.configuration import Configuration
from apportion_runtime.engines.koordinator.quantity_texts import amounts_text
from apportion_runtime.engines.koordinator.quota_specs import Quotas
from apportion_runtime.engines.koordinator.quota_tree import QuotaState, QuotaTree
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import Amounts, total

_OWN = frozenset((DEFAULT_QUOTA, SYSTEM_QUOTA))


@dataclass(slots=True)
class QuotaPod:
    """A pod: its quota, its request, whether it is non-preemptible, and whether it has a node."""

    quota: str
    request: Amounts
    is_fixed: bool
    is_assigned: bool = False


class QuotaAccounts:
    """The quotas of all trees, and their pods.

    Args:
        quotas: The quotas.
        configuration: The arguments of the quota plugin.
    """

    def __init__(self, quotas: Quotas, configuration: Configuration) -> None:
        self.quotas = quotas
        self._configuration = configuration
        self._pods: dict[str, QuotaPod] = {}
        self._of_quota: dict[str, dict[str, None]] = {name: {} for name in quotas.specs}
        self._minima: dict[str, tuple[str, dict[str, int]]] = {}
        """The root of each tree with a profile, and the capacity of its nodes."""
        by_tree: dict[str, list[str]] = {"": []}
        for name, spec in quotas.specs.items():
            by_tree.setdefault(spec.tree, []).append(name)
        self._trees = {
            tree: QuotaTree(
                (quotas.specs[name] for name in names),
                own=frozenset() if tree else _OWN,
                scales_min=configuration.scales_min,
            )
            for tree, names in by_tree.items()
        }

    def __getitem__(self, uid: str) -> QuotaPod:
        return self._pods[uid]

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    def tree_of(self, quota: str) -> QuotaTree:
        """Return the tree of a quota."""
        return self._trees[self.quotas.specs[quota].tree]

    def state(self, quota: str) -> QuotaState:
        """Return the requests, usage and runtime of a quota."""
        return self.tree_of(quota).states[quota]

    def set_capacity(self, nodes: Iterable[tuple[Mapping[str, str], Amounts]]) -> None:
        """Set the capacity that each tree divides: the allocatable resources of its nodes, by their labels.

        A node counts whether or not it is ready or schedulable.
        """
        capacity: dict[str, list[Amounts]] = {tree: [] for tree in self._trees}
        for labels, allocatable in nodes:
            of = [profile.tree for profile in self.quotas.profiles if profile.selects(labels)]
            for tree in of or [""]:
                capacity[tree].append(allocatable)
        for tree, each in capacity.items():
            self._trees[tree].set_capacity(total(each))
        for profile in self.quotas.profiles:
            whole = total(capacity[profile.tree])
            self._minima[profile.tree] = profile.root, {name: whole.get(name, 0) for name in profile.resources}

    @property
    def n_scalings(self) -> int:
        """How often a refresh has changed the scaled guarantee of a quota."""
        return sum(tree.n_scalings for tree in self._trees.values())

    def begin_cycle(self) -> None:
        """Set the guarantee of the root of each tree to the capacity of its nodes, as in every cycle."""
        for tree, (root, minimum) in self._minima.items():
            self._trees[tree].set_minimum(root, minimum)

    def add(self, uid: str, made: Manifest, request: Amounts) -> None:
        """Add a new pod."""
        quota = self.quotas.quota_of(made)
        is_fixed = labels_of(made).get(PREEMPTIBLE_LABEL) == "false"
        self._pods[uid] = QuotaPod(quota, request, is_fixed)
        self._of_quota[quota][uid] = None
        self.tree_of(quota).add_pod(quota, request)

    def remove(self, uid: str) -> None:
        """Remove a deleted pod."""
        pod = self._pods.get(uid)
        if pod is None:
            return
        self.unreserve(uid)
        del self._pods[uid]
        del self._of_quota[pod.quota][uid]
        self.tree_of(pod.quota).remove_pod(pod.quota, pod.request)

    def reserve(self, uid: str) -> None:
        """Charge a pod that was assigned to a node."""
        pod = self._pods[uid]
        if not pod.is_assigned:
            pod.is_assigned = True
            self.tree_of(pod.quota).reserve(pod.quota, pod.request, is_fixed=pod.is_fixed)

    def unreserve(self, uid: str) -> None:
        """Release the charge of a pod that no longer has a node."""
        pod = self._pods[uid]
        if pod.is_assigned:
            pod.is_assigned = False
            self.tree_of(pod.quota).unreserve(pod.quota, pod.request, is_fixed=pod.is_fixed)

    def assigned(self, quota: str) -> Iterator[str]:
        """Yield the assigned pods of a quota, in order of creation."""
        return (uid for uid in self._of_quota[quota] if self._pods[uid].is_assigned)

    def limit(self, quota: str) -> Mapping[str, int]:
        """Return the limit of a quota's usage: its runtime quota as of the last refresh, or its `max`.

        The default and the system quota have no runtime quota, and are unlimited.
        """
        state = self.state(quota)
        return state.runtime if self._configuration.uses_runtime else state.spec.maximum

    def _limit_if_refreshed(self, quota: str) -> Mapping[str, int]:
        """Return the limit that a quota would have after a refresh."""
        return self.tree_of(quota).current_runtime(quota) if self._configuration.uses_runtime else self.limit(quota)

    def refresh(self, quota: str) -> None:
        """Refresh the runtime quotas of a quota and its ancestors."""
        self.tree_of(quota).refresh(quota)

    def refusal(self, uid: str, *, is_trial: bool = False) -> str | None:
        """Return why a pod exceeds its quota or that of an ancestor, in Koordinator's words; None if it does not.

        Args:
            uid: The pod.
            is_trial: Whether the runtime quotas stay as they are.
        """
        pod = self._pods[uid]
        if self._configuration.uses_runtime and not is_trial:
            self.refresh(pod.quota)
        limit_of = self._limit_if_refreshed if is_trial else self.limit
        state = self.state(pod.quota)
        request = state.masked(pod.request)
        limit = limit_of(pod.quota)
        # All resources that the quota uses are compared, also those that the pod does not request.
        over = exceeded(total((state.used, request)), limit)
        if over:
            return _insufficient(f"quotaName: {pod.quota}", limit, state.used, request, over)
        if pod.is_fixed:
            least = state.spec.minimum
            over = exceeded(total((state.fixed, request)), least)
            if over:
                return (
                    f"Insufficient non-preemptible quotas, quotaName: {pod.quota}, min: {amounts_text(least)}, "
                    f"nonPreemptibleUsed: {amounts_text(state.fixed)}, pod's request: {amounts_text(request)}, "
                    f"exceedDimensions: [{' '.join(over)}]"
                )
        return self._refused_above(pod, request, limit_of) if self._configuration.checks_parents else None

    def _refused_above(
        self, pod: QuotaPod, request: Amounts, limit_of: Callable[[str], Mapping[str, int]]
    ) -> str | None:
        path = [pod.quota]
        for state in list(self.tree_of(pod.quota).upward(pod.quota))[1:]:
            path.insert(0, state.spec.name)
            limit = limit_of(state.spec.name)
            over = exceeded({key: amount + state.used.get(key, 0) for key, amount in request.items()}, limit)
            if over:
                return _insufficient(f"quotaNameTopo: [{' '.join(path)}]", limit, state.used, request, over)
        return None


def exceeded(used: Amounts, limit: Amounts) -> list[str]:
    """Return the resources whose usage exceeds the limit; a resource without a limit is unlimited."""
    return sorted(name for name, amount in used.items() if name in limit and amount > limit[name])


def _insufficient(quota: str, limit: Amounts, used: Amounts, request: Amounts, over: list[str]) -> str:
    return (
        f"Insufficient quotas, {quota}, runtime: {amounts_text(limit)}, used: {amounts_text(used)}, "
        f"pod's request: {amounts_text(request)}, exceedDimensions: [{' '.join(over)}]"
    )
