"""The scores of nodes for a pod, as one array.

Source: pkg/scheduler/plugins: nodeplacement (pack.go, spread.go), nodeavailability, gpusharingorder, resourcetype,
nominatednode.
"""

from __future__ import annotations

import numpy as np

from apportion_runtime.core.node_fit import fits
from apportion_runtime.core.nodes import Indices, Matrix, NodeTable
from apportion_runtime.core.plugins import scores
from apportion_runtime.core.resources import CPU, GPU, Vector
from apportion_runtime.core.snapshot import Settings
from apportion_runtime.core.task import Task


def node_scores(task: Task, nodes: NodeTable, among: Indices, settings: Settings) -> Vector:
    """Return a score for each candidate node; nodes with higher scores are tried first.

    Args:
        task: The pod.
        nodes: All nodes.
        among: The candidates; bin packing normalizes over them.
        settings: The enabled plugins and their arguments.
    """
    plugins = settings.plugins
    idle = nodes.rows(nodes.idle, among)
    total = np.zeros(len(among))
    if "nodeplacement" in plugins:
        strategy = settings.gpu_placement if task.needs_gpu else settings.cpu_placement
        resource = GPU if task.needs_gpu else CPU
        free = idle[:, resource] + nodes.rows(nodes.releasing, among)[:, resource]
        total += _placement(strategy, resource, free, nodes, among)
    if "nodeavailability" in plugins:
        total += scores.AVAILABILITY * fits(nodes, task, idle, among)
    if "gpusharingorder" in plugins and nodes.shared:
        _add_sharing(total, task, nodes, among)
    if "resourcetype" in plugins and not task.needs_gpu:
        total += scores.RESOURCE_TYPE * nodes.cpu_only[among]
    if "nominatednode" in plugins and task.pod.nominated_node is not None:
        nominated = nodes.index.get(task.pod.nominated_node, -1)
        total += scores.NOMINATED_NODE * (among == nominated)
    return total


def _placement(strategy: str, resource: int, free: Vector, nodes: NodeTable, among: Indices) -> Vector:
    overall = nodes.rows(nodes.allocatable, among)[:, resource]
    if strategy == "spread":
        whole = nodes.n_gpus[among].astype(float) if resource == GPU else overall
        spread: Vector = np.divide(free, whole, out=np.zeros(len(among)), where=whole != 0)
        return spread
    has = overall != 0
    if not has.any():
        return np.zeros(len(among))
    least, most = float(free[has].min()), float(free[has].max())
    most = max(most, 0.0)
    if most == 0:
        return np.zeros(len(among))
    if least == most:
        return np.where(has, scores.MAX_HIGH_DENSITY, 0.0)
    return np.where(has, scores.MAX_HIGH_DENSITY * (1 - (free - least) / (most - least)), 0.0)


def _add_sharing(total: Vector, task: Task, nodes: NodeTable, among: Indices) -> None:
    # The engine checks this for every pod; a request for whole devices takes all memory of a device and fits on none.
    total += scores.GPU_SHARING * nodes.has_shared_room(task.gpu, among)


def free_of(nodes: NodeTable, among: Indices) -> Matrix:
    """Return the idle and releasing resources of some nodes."""
    return nodes.rows(nodes.idle, among) + nodes.rows(nodes.releasing, among)
