"""How many pods of one shape fit on each node, also once its releasing resources are free.

Pods of one shape take places one by one: whatever node each of them is placed on, the places left on all nodes are one
fewer. A gang of such pods therefore fails if it needs more places than there are, without being tried. Places are
counted again only for nodes that changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping

import numpy as np
import numpy.typing as npt

from apportion_runtime.engines.kube_scheduler.equivalence import EquivalenceClass, alike_on_nodes
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.filters import Filters
from apportion_runtime.engines.kube_scheduler.node_statuses import explained_counts
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import Profile
from apportion_runtime.engines.volcano.insufficient import insufficient
from apportion_runtime.snapshots.pod_requests import PODS

_MOST_SHAPES = 256
_MOST_CLASSES = 10_000
_MOST_CHANGES = 100_000
_MOST_STATES = 20_000


class ShapePlaces:
    """The places for pods of one shape.

    Args:
        pod: A pod of the shape.
        profile: Its profile.
        places: The places of all shapes.

    Attributes:
        total: The number of pods that fit on all nodes together.
        is_bound_by_pods: Whether the number of pods limits the places on any node, in which case the others do not hold.
    """

    def __init__(self, pod: PodFacts, profile: Profile, places: FuturePlaces) -> None:
        self._places, self._nodes = places, places.nodes
        self._request = tuple(pod.request.items())
        self._filters = Filters(pod, profile, self._nodes)
        n_nodes = len(self._nodes.all)
        self._by_row = np.zeros(n_nodes, dtype=np.int64)
        self._is_idle = np.zeros(n_nodes, dtype=np.bool_)
        """Whether a pod fits on the idle resources of a node."""
        self._is_excluded = np.zeros(n_nodes, dtype=np.bool_)
        """Whether a filter excludes a node regardless of its pods."""
        self._scores = np.zeros(n_nodes)
        self._known_scores: dict[Hashable, float] = {}
        self._unscored: set[int] = set()
        self._statuses: list[FilterStatus | None] = [None] * n_nodes
        self._is_bound = [False] * n_nodes
        self._n_bound = 0
        self._counts: Counter[FilterStatus] = Counter()
        self._text = ""
        self.total = 0
        for row in range(n_nodes):
            self._examine(row)
        self._n_read = len(self._nodes.changes), len(places.changes)

    @property
    def is_bound_by_pods(self) -> bool:
        return self._n_bound > 0

    def refresh(self) -> None:
        """Count the places on the nodes that changed since the last refresh."""
        changes, others = self._nodes.changes, self._places.changes
        n_changes, n_others = self._n_read
        if n_changes < len(changes) or n_others < len(others):
            for row in {*changes[n_changes:], *others[n_others:]}:
                self._examine(row)
            self._n_read = len(changes), len(others)

    def fits(self, row: int) -> bool:
        """Return whether a pod fits on a node."""
        return bool(self._by_row[row] > 0)

    def is_changing(self, node: NodeState) -> bool:
        """Return whether a node has releasing or pipelined pods in the cycle, or scores see it otherwise than filters."""
        return node.name in self._places.coming or node.name in self._places.seen

    def is_idle(self, row: int) -> bool:
        """Return whether a pod fits on the idle resources of a node."""
        return bool(self._is_idle[row])

    def best(self, score: Callable[[NodeState], float], *, idle: bool) -> npt.NDArray[np.intp]:
        """Return the rows of the nodes with the highest score among those where a pod fits, in ascending order.

        Args:
            score: Returns the score of a node. It depends only on the resources of the node, also as scores see them.
            idle: Whether only nodes with enough idle resources count.
        """
        rows = np.flatnonzero(self._is_idle if idle else self._by_row)
        if len(rows) > 1:
            scores = self._scores_of(rows, score)
            rows = rows[scores == scores.max()]
        return rows

    def in_order(self, score: Callable[[NodeState], float], others: Collection[int]) -> list[int]:
        """Return the rows of the nodes where a pod fits, and of others that no filter excludes, by score and name.

        Args:
            score: As for `best`.
            others: The rows of the others.
        """
        may = self._by_row > 0
        may[list(others)] = True
        may &= ~self._is_excluded
        rows = np.flatnonzero(may)
        if len(rows) > 1:
            rows = rows[np.argsort(-self._scores_of(rows, score), kind="stable")]
        found: list[int] = rows.tolist()
        return found

    def _scores_of(self, rows: npt.NDArray[np.intp], score: Callable[[NodeState], float]) -> npt.NDArray[np.float64]:
        """Return the scores of some nodes."""
        if self._unscored:
            for row in self._unscored.intersection(rows.tolist()):
                self._scores[row] = self._score(self._nodes.all[row], score)
                self._unscored.discard(row)
        scores: npt.NDArray[np.float64] = self._scores[rows]
        return scores

    def _score(self, node: NodeState, score: Callable[[NodeState], float]) -> float:
        """Return the score of a node, which is known for nodes with the same resources."""
        seen = self._places.seen.get(node.name)
        key = node.state_key, None if seen is None else seen.state_key
        known = self._known_scores.get(key)
        if known is None:
            if len(self._known_scores) >= _MOST_STATES:
                self._known_scores.clear()
            known = self._known_scores[key] = score(node)
        return known

    @property
    def why_full(self) -> str:
        """Why a pod fits on no node once all places are taken."""
        if not self._text:
            self._text = explained_counts(self._counts, len(self._statuses))
        return self._text

    def _examine(self, row: int) -> None:
        node = self._nodes.all[row]
        n_places, is_idle, is_bound = 0, False, False
        status = self._filters.fixed_status(node)
        self._is_excluded[row] = status is not None
        if status is None:
            n_places, is_idle, status, is_bound = self._places_on(node)
        before = self._statuses[row]
        if status is not before:
            if before is not None:
                self._counts[before] -= 1
                if not self._counts[before]:
                    del self._counts[before]
            self._counts[status] += 1
            self._statuses[row] = status
            self._text = ""
        if is_bound is not self._is_bound[row]:
            self._n_bound += 1 if is_bound else -1
            self._is_bound[row] = is_bound
        self.total += n_places - int(self._by_row[row])
        self._by_row[row], self._is_idle[row] = n_places, is_idle
        self._unscored.add(row)

    def _places_on(self, node: NodeState) -> tuple[int, bool, FilterStatus, bool]:
        """Return the places on a node, whether one is idle, what the node lacks once all are taken, and whether the number of pods limits them."""
        coming = self._places.coming.get(node.name)
        allocatable, requested = node.allocatable, node.requested
        n_places: int | None = None
        is_idle = True
        free: list[int] = []
        for name, value in self._request:
            amount = allocatable[name] - requested.get(name, 0) if name in allocatable else 0
            if value > 0 and value > amount:
                is_idle = False
            if coming is not None:
                amount += coming.get(name, 0)
            free.append(amount)
            if value > 0 and (n_places is None or amount // value < n_places):
                n_places = amount // value
        if n_places is None:
            return 0, False, insufficient(()), True
        n_places = max(n_places, 0)
        lacking = [
            name for (name, value), amount in zip(self._request, free, strict=True) if value > amount - n_places * value
        ]
        n_pods = allocatable.get(PODS, 0)
        room = n_pods - len(self._places.seen.get(node.name, node).pods)
        place = n_pods - len(node.pods) + (0 if coming is None else coming.get(PODS, 0))
        return n_places, is_idle and n_places > 0, insufficient(tuple(lacking)), min(room, place) <= n_places


class FuturePlaces:
    """The places of a scheduler, kept between its cycles.

    Args:
        nodes: The nodes.
        profile: The profile of all pods.

    Attributes:
        coming: The releasing resources of nodes in the cycle, less those of pods pipelined there.
        seen: The nodes as scores see them in the cycle.
        changes: The rows whose releasing resources changed.
    """

    def __init__(self, nodes: Nodes, profile: Profile) -> None:
        self.nodes = nodes
        self.coming: Mapping[str, Mapping[str, int]] = {}
        self.seen: Mapping[str, NodeState] = {}
        self.changes: list[int] = []
        self._profile = profile
        self._epoch = -1
        self._shapes: dict[object, ShapePlaces] = {}
        self._of_classes: dict[int, tuple[EquivalenceClass, ShapePlaces]] = {}
        """By identity of a class, which pods of one workload share."""

    def begin_cycle(self, coming: Mapping[str, Mapping[str, int]], seen: Mapping[str, NodeState]) -> None:
        """Replace the releasing resources and seen nodes by those of another cycle."""
        if self._epoch != self.nodes.epoch or len(self.changes) > _MOST_CHANGES:
            self._epoch = self.nodes.epoch
            self._clear()
        for name in {**self.coming, **self.seen}:
            node = self.nodes.get(name)
            if node is not None:
                self.changes.append(node.row)
        self.coming, self.seen = coming, seen

    def of(self, pod: PodFacts) -> ShapePlaces | None:
        """Return the current places for pods like one; None if other pods matter for it."""
        shape = alike_on_nodes(pod)
        if shape is None:
            return None
        known = self._of_classes.get(id(shape))
        if known is not None:
            found = known[1]
        else:
            if len(self._shapes) >= _MOST_SHAPES or len(self._of_classes) >= _MOST_CLASSES:
                self._clear()
            key = shape.on_node, pod.nonzero
            found = self._shapes.get(key) or ShapePlaces(pod, self._profile, self)
            self._shapes[key] = found
            self._of_classes[id(shape)] = shape, found
        found.refresh()
        return found

    def _clear(self) -> None:
        self.changes.clear()
        self._shapes.clear()
        self._of_classes.clear()
