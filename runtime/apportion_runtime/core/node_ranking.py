"""The best node for each of many equivalent pods, without examining every node for each of them.

For pods with the same request whose placement depends only on free resources, each node has one number: whether the pod
fits, whether it fits without waiting, and how full the node is. Only nodes that changed are recomputed. The order is
that of the scores, which fall as free resources grow, so the first smallest number is the first highest score.

Source: pkg/scheduler/framework/session.go:OrderedNodesByTask, plugins/nodeplacement, nodeavailability, resourcetype.
"""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

import numpy as np

from apportion_runtime.core.node_fit import fits, full_request, has_room
from apportion_runtime.core.nodes import Indices, Mask, NodeTable
from apportion_runtime.core.resources import CPU, GPU, PODS, Vector
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.task import MIG, Task

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session

_MOST_KEPT = 64
_FEW = 12
"""Up to this number of nodes, computing them one by one is faster than as arrays."""
_MANY_CHANGES = 256
_LARGEST = 2.0**34
_LARGEST_SPREAD = 2.0**18
"""The largest CPU capacity (millicores) or device count of a node for which rounded scores differ.

The free fractions of two nodes differ by one over the product of their sizes, the amounts by one over their range.
"""
_ABOVE_ALL, _ABOVE_ALL_PARTS = 2.0 * _LARGEST, 2.0
"""Larger than any free amount or fraction: added once, twice or four times for the criteria with more weight."""
_PLUGINS = frozenset(("nodeplacement", "nodeavailability", "predicates"))


class NodeRanking:
    """The nodes ranked for one shape of pods: the smaller the number the better, infinite where the pod does not fit."""

    __slots__ = (
        "_amounts", "_at", "_by_sharing", "_by_type", "_mask", "_resource", "_spread_over", "_task", "_unit", "at_once",
        "number",
    )  # fmt: skip

    def __init__(self, task: Task, mask: Mask, session: Session) -> None:
        nodes, settings = session.nodes, session.settings
        self._task = task
        self._amounts = full_request(task)
        self._mask = mask
        self._resource = GPU if task.needs_gpu else CPU
        strategy = settings.gpu_placement if task.needs_gpu else settings.cpu_placement
        self._spread_over: Vector | None = None
        if strategy == "spread":
            whole = nodes.n_gpus.astype(float) if task.needs_gpu else nodes.allocatable[:, CPU]
            self._spread_over = np.where(whole == 0, np.inf, whole)
        self._unit = _ABOVE_ALL if self._spread_over is None else _ABOVE_ALL_PARTS
        self._by_type = "resourcetype" in session.plugins and not task.needs_gpu
        self._by_sharing = "gpusharingorder" in session.plugins
        self.number: Vector = np.empty(len(nodes))
        # Nodes on which the pod need not wait.
        self.at_once: Mask = np.zeros(len(nodes), dtype=bool)
        self._at = len(nodes.changed)
        self._compute(nodes, nodes.all)

    def update(self, nodes: NodeTable) -> None:
        """Recompute the nodes that have changed since the last call."""
        changed = nodes.changed
        n = len(changed) - self._at
        if n == 0:
            return
        if n > max(_MANY_CHANGES, len(self.number)):
            self._compute(nodes, nodes.all)
            self._at = len(changed)
            return
        rows = set(changed[self._at :])
        if len(rows) <= _FEW:
            for i in rows:
                self._compute_one(nodes, i)
        else:
            self._compute(nodes, np.array(list(rows), dtype=np.intp))
        self._at = len(changed)

    def _compute(self, nodes: NodeTable, rows: Indices) -> None:
        task, unit = self._task, self._unit
        idle = nodes.rows(nodes.idle, rows)
        free = idle + nodes.rows(nodes.releasing, rows)
        number: Vector = free[:, self._resource]
        if self._spread_over is not None:
            number = -number / self._spread_over[rows]
        if self._by_type:
            number = number + unit * ~nodes.cpu_only[rows]
        self.at_once[rows] = at_once = fits(nodes, task, idle, rows)
        number = number + 2.0 * unit * ~at_once
        if self._by_sharing:
            number = number + 4.0 * unit * ~nodes.has_shared_room(task.gpu, rows)
        fitting = fits(nodes, task, free, rows) & self._mask[rows]
        self.number[rows] = np.where(fitting, number, np.inf)

    def _compute_one(self, nodes: NodeTable, i: int) -> None:
        idle: list[float] = nodes.idle[i].tolist()
        free = list(map(add, idle, nodes.releasing[i].tolist()))
        task = self._task
        if not self._mask[i] or not has_room(nodes, task, self._amounts, free, i):
            self.number[i] = np.inf
            return
        number = free[self._resource]
        if self._spread_over is not None:
            number = -number / float(self._spread_over[i])
        if self._by_type and not nodes.cpu_only[i]:
            number += self._unit
        # Without resources that are being released, idle and free resources are the same.
        self.at_once[i] = at_once = free == idle or has_room(nodes, task, self._amounts, idle, i)
        if not at_once:
            number += 2.0 * self._unit
        if self._by_sharing and not nodes.shares_room(task.gpu, i):
            number += 4.0 * self._unit
        self.number[i] = number


class NodeRankings:
    """The rankings of a session, built on first use."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[tuple[int, int], NodeRanking] = {}
        snapshot = session.snapshot
        largest = _LARGEST_SPREAD if session.settings.cpu_placement == "spread" else _LARGEST
        self._possible = (
            session.plugins >= _PLUGINS
            and "numa" not in session.plugins
            and not any(has_pod_constraints(pod) for pod in snapshot.pods)
            and not any(made.extended_resource for made in snapshot.device_classes)
            and float(session.nodes.allocatable[:, [CPU, GPU]].max(initial=0.0)) < largest
        )

    def note(self, pod: Pod) -> None:
        """Record a pod that was added: with pod affinity or host ports, rankings cannot be used."""
        if has_pod_constraints(pod):
            self._possible = False

    def for_task(self, task: Task) -> NodeRanking | None:
        """Return the current ranking for a pod; None if its placement depends on more than free resources."""
        session = self._session
        pod = task.pod
        if (
            not self._possible
            or task.kind == MIG
            or pod.claims
            or pod.nominated_node is not None
            or session.topologies.has_scores
            or not (task.shares_gpu or task.request[GPU if task.needs_gpu else CPU] > 0)
            or task.request[PODS] < 1
        ):
            return None
        mask = session.predicates.mask(task)
        key = (task.shape, id(mask))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            found = self._known[key] = NodeRanking(task, mask, session)
        else:
            found.update(session.nodes)
        return found


def best_of(ranking: NodeRanking, nodes: Indices, every: Indices) -> tuple[int, bool] | None:
    """Return the best of some nodes and whether the pod fits there without waiting; None if it fits on none."""
    if not len(nodes):
        return None
    if nodes is every:
        i = int(ranking.number.argmin())
        number = ranking.number[i]
    else:
        row = int(ranking.number[nodes].argmin())
        i = int(nodes[row])
        number = ranking.number[i]
    if number == np.inf:
        return None
    return i, bool(ranking.at_once[i])


def has_pod_constraints(pod: Pod) -> bool:
    """Return whether other pods affect where a pod may be placed, or how nodes are ranked for it."""
    return bool(pod.affinity or pod.anti_affinity or pod.pod_preferences or pod.host_ports)
