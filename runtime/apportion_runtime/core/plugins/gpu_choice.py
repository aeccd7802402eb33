"""The choice of shared devices for a pod: those on which it fits, the fullest or the emptiest first, then new ones.

Source: pkg/scheduler/gpu_sharing/gpuSharing.go, framework/session.go:FittingGPUs, plugins/gpupack, plugins/gpuspread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from apportion_runtime.core.node_fit import fits_idle
from apportion_runtime.core.resources import GPU
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.core.task import Task

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session

_WHOLE = ""
_NEW = "new-"


class Devices(NamedTuple):
    """Devices by the id of their group, and whether the pod has to wait for one of them."""

    groups: tuple[str, ...]
    is_releasing: bool


def last_new_group(pods: Iterable[Pod]) -> int:
    """Return the highest number of a new device in earlier cycles; numbers above it are unused."""
    named = (group[len(_NEW) :] for pod in pods for group in pod.gpu_groups if group.startswith(_NEW))
    return max((int(number) for number in named if number.isdecimal()), default=0)


def choose_devices(session: Session, task: Task, i: int, *, pipeline_only: bool) -> Devices | None:
    """Return the devices for a pod on a node; None if there are too few. Ids of new devices begin with `new`."""
    nodes = session.nodes
    memory = nodes.memory_of(task.gpu, i)
    wanted = task.gpu.count
    shared = nodes.shared.get(i)
    allocatable = None
    groups: list[str] = []
    is_releasing = False
    n_new = 0
    for group in _ordered(session, i, memory):
        if allocatable is None:
            allocatable = fits_idle(nodes, task, i)
        if group == _WHOLE:
            is_releasing = is_releasing or pipeline_only or not allocatable
            n_new += 1
            groups.append(f"{_NEW}{session.n_groups + n_new}")
        else:
            assert shared is not None
            is_releasing = is_releasing or not shared.fits_idle(group, memory) or not allocatable
            groups.append(group)
        if len(groups) == wanted:
            return Devices(tuple(groups), is_releasing)
    return None


def _ordered(session: Session, i: int, memory: int) -> list[str]:
    nodes = session.nodes
    shared = nodes.shared.get(i)
    candidates = shared.fitting(memory) if shared is not None else []
    idle, releasing = nodes.idle[i, GPU], nodes.releasing[i, GPU]
    if idle > 0 or releasing > 0:
        candidates += [_WHOLE] * max(int(idle) + int(releasing), 0)
    scored: list[tuple[float, str]] = []
    for group in candidates:
        score = 0.0
        used = 0.0 if group == _WHOLE or shared is None else shared.used_portion(group)
        if "gpupack" in session.plugins:
            score += used
        if "gpuspread" in session.plugins:
            score += 1 - used
        scored.append((-score, group))
    # The engine breaks ties arbitrarily; here devices in use come before new ones, in order of their ids.
    scored.sort(key=lambda pair: (pair[0], pair[1] == _WHOLE, pair[1]))
    return [group for _, group in scored]
