"""The nodes that fit pods of one shape and their scores, updated only for nodes whose pods changed.

A ranking exists only for pods whose filters and scores are independent of pods on other nodes and of the other feasible
nodes. For other pods, `scheduler.py` examines every node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from apportion_runtime.engines.kube_scheduler.equivalence import alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.filters import Filters, resources_lacking
from apportion_runtime.engines.kube_scheduler.node_statuses import NodeStatuses
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import Profile
from apportion_runtime.engines.kube_scheduler.scores import resource_score

_MOST_RANKINGS = 256
_MOST_STATES = 20_000


@dataclass(frozen=True, slots=True)
class RankedNodes:
    """Feasible nodes, by row in ascending order, and the number of nodes that were examined to find them."""

    rows: npt.NDArray[np.intp]
    n_examined: int

    @staticmethod
    def only(row: int) -> RankedNodes:
        """Return a single node, which no search found."""
        return RankedNodes(np.array([row]), 0)


class Criteria(Protocol):
    """What decides about a node apart from the filters that do not depend on its pods."""

    def lacking(self, pod: PodFacts, node: NodeState) -> FilterStatus | None:
        """Return why a node has no room for a pod; None if it has."""
        ...

    def score(self, pod: PodFacts, node: NodeState) -> float:
        """Return the score of a node, which depends only on its resources."""
        ...


@dataclass(frozen=True, slots=True)
class _ProfileCriteria:
    """The filter NodeResourcesFit and the scores of a profile."""

    profile: Profile

    def lacking(self, pod: PodFacts, node: NodeState) -> FilterStatus | None:
        return resources_lacking(pod, node, self.profile) if "NodeResourcesFit" in self.profile.filters else None

    def score(self, pod: PodFacts, node: NodeState) -> float:
        return float(resource_score(pod, node, self.profile))


class NodeRanking:
    """The nodes for pods of one shape, by row.

    Args:
        pod: A pod of the shape.
        profile: Its profile.
        nodes: The nodes.
        criteria: Their room and scores.

    Attributes:
        filters: The filters of the pod.
        statuses: Why each node does not fit; None if it fits.
        counts: The number of nodes with each status.
    """

    def __init__(self, pod: PodFacts, profile: Profile, nodes: Nodes, criteria: Criteria) -> None:
        self._pod, self._nodes, self._criteria = pod, nodes, criteria
        self.filters = Filters(pod, profile, nodes)
        self._known: dict[Hashable, tuple[FilterStatus | None, float]] = {}
        n_nodes = len(nodes.all)
        self._fits = np.zeros(n_nodes, dtype=np.bool_)
        self._scores = np.zeros(n_nodes)
        self.statuses: list[FilterStatus | None] = [None] * n_nodes
        self.counts: dict[FilterStatus | None, int] = {None: n_nodes}
        for row in range(n_nodes):
            self._examine(row)
        self._n_read = len(nodes.changes)

    def refresh(self) -> None:
        """Examine the nodes that changed since the last refresh."""
        changes = self._nodes.changes
        if self._n_read < len(changes):
            for row in set(changes[self._n_read :]):
                self._examine(row)
            self._n_read = len(changes)

    def _examine(self, row: int) -> None:
        node = self._nodes.all[row]
        status = self.filters.fixed_status(node)
        score = 0.0
        if status is None:
            key = node.state_key
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= _MOST_STATES:
                    self._known.clear()
                lacking = self._criteria.lacking(self._pod, node)
                score = self._criteria.score(self._pod, node) if lacking is None else 0.0
                known = self._known[key] = (lacking, score)
            status, score = known
        before = self.statuses[row]
        if status != before:
            self.counts[before] -= 1
            self.counts[status] = self.counts.get(status, 0) + 1
            self.statuses[row] = status
        self._fits[row], self._scores[row] = status is None, score

    def feasible(self, start: int, wanted: int, without: frozenset[int] = frozenset()) -> RankedNodes:
        """Return the first feasible nodes from a row on, around the end, up to a number.

        Args:
            start: The row of the first node to examine.
            wanted: The number of nodes after which the search stops.
            without: Rows that do not fit for other reasons.
        """
        fits = self._fits
        if without:
            fits = fits.copy()
            fits[list(without)] = False
        rows = np.flatnonzero(fits)
        n_nodes = len(self._fits)
        if len(rows) <= wanted:
            return RankedNodes(rows, n_nodes)
        first = int(np.searchsorted(rows, start))
        end = first + wanted
        # The search stops at the next node that fits, and does not count it.
        if end < len(rows):
            return RankedNodes(rows[first:end], int(rows[end]) - start)
        end -= len(rows)
        return RankedNodes(np.concatenate((rows[:end], rows[first:])), int(rows[end]) + n_nodes - start)

    def best(self, feasible: RankedNodes) -> int | None:
        """Return the row of the node with the highest score, the first one among equals; None without nodes."""
        rows = feasible.rows
        return int(rows[self._scores[rows].argmax()]) if len(rows) else None

    def by_name(self) -> dict[str, FilterStatus]:
        """Return why nodes do not fit, by name."""
        found = zip(self._nodes.all, self.statuses, strict=True)
        return {node.name: status for node, status in found if status is not None}

    def node_statuses(self, crowded: Mapping[str, FilterStatus]) -> NodeStatuses:
        """Return why nodes do not fit; `crowded` are those that do not because of the pods that are nominated to them."""
        if not crowded:
            return NodeStatuses(self.counts_without(()), self.by_name, len(self.statuses))
        states = [node for name in crowded if (node := self._nodes.get(name)) is not None]
        counts = Counter(self.counts_without(node.row for node in states))
        counts.update(crowded.values())
        return NodeStatuses(counts, lambda: {**self.by_name(), **crowded}, len(self.statuses))

    def counts_without(self, rows: Iterable[int]) -> dict[FilterStatus, int]:
        """Return the number of nodes with each status, without some rows."""
        counts = dict(self.counts)
        for row in rows:
            counts[self.statuses[row]] -= 1
        return {status: count for status, count in counts.items() if status is not None and count}

    def best_of(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return the rows with the highest score among some."""
        scores = self._scores[rows]
        best: npt.NDArray[np.intp] = rows[scores == scores.max(initial=-np.inf)]
        return best

    def score(self, row: int) -> float:
        """Return the score of a feasible node."""
        return float(self._scores[row])

    def is_feasible(self, row: int) -> bool:
        """Return whether a node fits."""
        return bool(self._fits[row])


class NodeRankings:
    """The rankings of a scheduler, by profile and shape of the pod.

    Args:
        nodes: The nodes.
        criteria: Their room and scores; those of the profile by default.
    """

    def __init__(self, nodes: Nodes, criteria: Criteria | None = None) -> None:
        self._nodes = nodes
        self._criteria = criteria
        self._rankings: dict[Hashable, NodeRanking] = {}
        self._epoch = -1

    def of(self, pod: PodFacts, profile: Profile) -> NodeRanking | None:
        """Return the current ranking for a pod; None if other pods, or the set of feasible nodes, matter for it."""
        nodes = self._nodes
        if (
            nodes.has_anti_affinity
            or nodes.has_affinity
            or nodes.has_soft_taints
            or pod.preferred_nodes
            or pod.preferred_pods
            or profile.added_preferences
        ):
            return None
        shape = alike_on_nodes(pod)
        if shape is None:
            return None
        if self._epoch != nodes.epoch:
            self._rankings.clear()
            self._epoch = nodes.epoch
        # A profile is read once, so that its identity suffices.
        key = (id(profile), shape.on_node, pod.nonzero)
        ranking = self._rankings.get(key)
        if ranking is None:
            if len(self._rankings) >= _MOST_RANKINGS:
                self._rankings.clear()
            ranking = self._rankings[key] = NodeRanking(
                pod, profile, nodes, self._criteria or _ProfileCriteria(profile)
            )
        else:
            ranking.refresh()
        return ranking
