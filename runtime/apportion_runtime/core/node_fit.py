"""The fit of pods into the free resources of nodes.

Source: pkg/scheduler/api/node_info/node_info.go, gpu_sharing_node_info.go, dra_shared_device_info.go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import le

import numpy as np

from apportion_runtime.core.nodes import Indices, Mask, Matrix, NodeTable
from apportion_runtime.core.resources import GPU, GpuRequest, Vector
from apportion_runtime.core.task import MIG, REGULAR, Task


def fits(table: NodeTable, task: Task, free: Matrix, nodes: Indices) -> Mask:
    """Return which nodes have room for a pod in the given free resources (rows as `nodes`)."""
    request = task.request
    if task.kind in (REGULAR, MIG):
        if task.claims:
            free = _discounted(table, task, free, nodes)
        return fits_request(request, free)
    fitting = fits_request(request, free, but=GPU)
    whole = np.floor(free[:, GPU])
    fitting &= _portion_is_valid(table, task.gpu, nodes)
    count = task.gpu.count
    enough: Mask = whole >= count
    if table.shared:
        shared_has_room = table.has_shared_room(task.gpu, nodes)
        if count == 1:
            # An overcommitted node has a negative number of whole devices, so a shared device with room is not enough.
            enough |= shared_has_room & (whole >= 0)
        else:
            for row in np.flatnonzero(fitting & ~enough & shared_has_room):
                i = int(nodes[row])
                enough[row] = whole[row] + table.shared[i].n_fitting(table.memory_of(task.gpu, i), count) >= count
    return fitting & enough


def _portion_is_valid(table: NodeTable, gpu: GpuRequest, nodes: Indices) -> Mask:
    if gpu.memory <= 0:
        return np.full(len(nodes), gpu.portion <= 1 or gpu.portion == int(gpu.portion))
    with np.errstate(divide="ignore"):
        portions = np.ceil(gpu.memory / table.gpu_memory[nodes] * 100) / 100
    return np.asarray((portions <= 1) | ((portions == np.floor(portions)) & np.isfinite(portions)))


def fits_idle(table: NodeTable, task: Task, i: int) -> bool:
    """Return whether a pod fits into the idle resources of a node."""
    if task.claims and not task.shares_gpu:
        return bool(fits(table, task, table.idle[i : i + 1], np.array([i]))[0])
    return has_room(table, task, full_request(task), table.idle[i].tolist(), i)


def has_room(table: NodeTable, task: Task, request: Sequence[float], free: Sequence[float], i: int) -> bool:
    """Return whether a pod fits into free resources of a node, except devices that its claims share with others.

    `request` is the result of `full_request` for the pod; `free` has the same columns.
    """
    if not all(map(le, request, free)):
        return False
    if not task.shares_gpu:
        return True
    gpu = task.gpu
    portion = table.portion_of(gpu, i)
    if portion > 1 and (math.isinf(portion) or portion != int(portion)):
        return False
    whole, shared = math.floor(free[GPU]), table.shared.get(i)
    if whole >= gpu.count or shared is None:
        return whole >= gpu.count
    return whole + shared.n_fitting(table.memory_of(gpu, i), gpu.count) >= gpu.count


def _discounted(table: NodeTable, task: Task, free: Matrix, nodes: Indices) -> Matrix:
    """Return free resources, including the devices that a pod would share."""
    devices = task.gpu_devices
    if not devices or not table.device_uses:
        return free
    made = free.copy()
    for row, i in enumerate(nodes):
        uses = table.device_uses.get(int(i))
        if uses is not None:
            made[row, GPU] += sum(uses[key] > 0 for key in devices)
    return made


def fits_request(request: Vector, free: Matrix, but: int = -1) -> Mask:
    """Return which rows have room for a request in every column, except one if given."""
    # Column by column: reducing each short row takes several times as long.
    amounts = request.tolist()
    fitting: Mask = free[:, 0] >= amounts[0]
    for column in range(1, len(amounts)):
        if column != but:
            fitting &= free[:, column] >= amounts[column]
    return fitting


def full_request(task: Task) -> list[float]:
    """Return the request of a pod by column; for a shared GPU, whose room is checked elsewhere, minus infinity."""
    asked: list[float] = task.request.tolist()
    if task.shares_gpu:
        asked[GPU] = -math.inf
    return asked
