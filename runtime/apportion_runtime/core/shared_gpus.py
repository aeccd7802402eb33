"""The shared devices of a node, by the id of each device's group.

Source: pkg/scheduler/api/node_info/gpu_sharing_node_info.go.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from apportion_runtime.core.resources import GPU, Vector
from apportion_runtime.core.running_totals import added
from apportion_runtime.core.status import PIPELINED, RELEASING

_NONE = -1
DEFAULT_GPU_MEMORY = 100


def memory_fraction(memory: int, of: int) -> float:
    """Return memory as a fraction of a device's, rounded up to hundredths; not a number for a device without memory."""
    if of == 0:
        return math.inf if memory > 0 else math.nan
    return math.ceil(memory / of * 100) / 100


def device_memory(gpu_memory: int | None) -> int:
    """Return a device's memory as the engine counts it: whole hundreds of MiB; large values are bytes."""
    if gpu_memory is None:
        return DEFAULT_GPU_MEMORY
    mib = gpu_memory if gpu_memory < 2**20 else gpu_memory // 2**20
    return mib - mib % 100


class Row(NamedTuple):
    """A node's vectors, which change in place."""

    idle: Vector
    releasing: Vector
    used: Vector


class SharedGpus:
    """MiB used, released and allocated on each shared device of one node.

    Whole devices that become shared, or free again, are taken from and given to the node's vectors, which are passed
    in: the engine subtracts a shared device from the idle ones only if it has not been subtracted already.
    """

    __slots__ = ("_rooms", "allocated", "leaving", "memory", "n_gpus", "releasing", "used")

    def __init__(self, memory: int, n_gpus: int) -> None:
        self.memory = memory
        self.n_gpus = n_gpus
        self.used: dict[str, int] = {}
        self.releasing: dict[str, int] = {}
        self.allocated: dict[str, int] = {}
        self.leaving: set[str] = set()
        self._rooms: list[tuple[str, int]] | None = None

    def _n_used(self, used: Vector) -> int:
        return int(used[GPU]) + sum(memory > 0 for memory in self.used.values())

    def _charge(self, group: str, memory: int) -> None:
        """Count MiB in use, and drop unused devices: a search tries many."""
        self._rooms = None
        used = self.used.get(group, 0) + memory
        if used:
            self.used[group] = used
        else:
            self.used.pop(group, None)

    def add(self, group: str, memory: int, status: int, row: Row) -> None:
        """Charge a pod to a device."""
        idle, releasing, used = row
        self._charge(group, memory)
        if status == RELEASING:
            self.releasing[group] = self.releasing.get(group, 0) + memory
            self.allocated[group] = self.allocated.get(group, 0) + memory
            if self.used.get(group, 0) == self.releasing[group]:
                if group not in self.leaving:
                    releasing[GPU] += 1
                    self.leaving.add(group)
                if self.n_gpus < int(idle[GPU]) + self._n_used(used):
                    idle[GPU] -= 1
        elif status == PIPELINED:
            self.releasing[group] = self.releasing.get(group, 0) - memory
            if self.used.get(group, 0) - memory == self.releasing[group] + memory:
                releasing[GPU] -= 1
        else:
            self.allocated[group] = self.allocated.get(group, 0) + memory
            if self.used.get(group, 0) <= memory and self.n_gpus < int(idle[GPU]) + self._n_used(used):
                idle[GPU] -= 1
            if group in self.leaving:
                releasing[GPU] -= 1
                self.leaving.discard(group)

    def remove(self, group: str, memory: int, status: int, row: Row) -> None:
        """Release a pod's charge from a device."""
        idle, releasing, used = row
        self._charge(group, -memory)
        if status == RELEASING:
            self.releasing[group] = self.releasing.get(group, 0) - memory
            self.allocated[group] = self.allocated.get(group, 0) - memory
            if self.used.get(group, 0) <= 0:
                if self.n_gpus >= int(idle[GPU]) + self._n_used(used):
                    idle[GPU] += 1
                if group in self.leaving:
                    releasing[GPU] -= 1
                    self.leaving.discard(group)
        elif status == PIPELINED:
            self.releasing[group] = self.releasing.get(group, 0) + memory
            used_now = self.used.get(group, 0)
            before = used_now + memory == self.releasing[group] - memory
            if before or (used_now == 0 and self.releasing[group] == 0):
                releasing[GPU] += 1
        else:
            self.allocated[group] = self.allocated.get(group, 0) - memory
            if self.used.get(group, 0) <= 0 and self.n_gpus >= int(idle[GPU]) + self._n_used(used):
                idle[GPU] += 1
            if self._only_leaving(group) and group not in self.leaving:
                releasing[GPU] += 1
                self.leaving.add(group)

    def _only_leaving(self, group: str) -> bool:
        used = self.used.get(group, 0)
        return used != 0 and group in self.releasing and self.releasing[group] == used

    @property
    def room(self) -> int:
        """The most MiB that fit on any device; below 0 if there is no shared device."""
        return max((room for _, room in self._rooms_by_id()), default=_NONE)

    def _rooms_by_id(self) -> list[tuple[str, int]]:
        """Return the devices with free memory, in order of their ids, each with the MiB that still fit.

        Memory that is being released counts, unless the whole device is being released.
        """
        if self._rooms is None:
            allocated, releasing = self.allocated, self.releasing
            self._rooms = [
                (group, self.memory - held + leaving)
                for group in sorted(self.used)
                if (held := allocated.get(group, 0)) != (leaving := releasing.get(group, 0))
            ]
        return self._rooms

    def fits_idle(self, group: str, memory: int) -> bool:
        """Return whether a device has room now; one that no pod holds has none."""
        return group in self.allocated and self.memory - self.allocated[group] - memory >= 0

    def n_fitting(self, memory: int, at_most: int) -> int:
        """Return the number of devices with room."""
        return min(len(self.fitting(memory)), at_most)

    def fitting(self, memory: int) -> list[str]:
        """Return the devices with room, in order of their ids."""
        return [group for group, room in self._rooms_by_id() if room >= memory]

    def used_portion(self, group: str) -> float:
        """Return the used part of a device."""
        return self.used.get(group, 0) / self.memory if self.memory else 0.0

    def available(self) -> tuple[float, int]:
        """Return devices and MiB that are free on devices in use."""
        held = [memory for memory in self.allocated.values() if memory > 0]
        return (
            added(1 - memory_fraction(memory, self.memory) for memory in held),
            sum(self.memory - memory for memory in held),
        )

    def releasing_amounts(self) -> tuple[float, int]:
        """Return devices and MiB that are being released on devices that stay in use."""
        held = [m for group, m in self.releasing.items() if m > 0 and not self._only_leaving(group)]
        return added(memory_fraction(memory, self.memory) for memory in held), sum(held)

    def free_fractions(self) -> float:
        """Return the free and releasing capacity of devices in use, in devices."""
        total = 0.0
        if self.memory <= 0:
            return total
        for group, used in self.used.items():
            if used > 0:
                free = self.memory - self.allocated.get(group, 0) + self.releasing.get(group, 0)
                total += max(free, 0) / self.memory
        return total


class SharedSummary:
    """The shared devices of each node: the largest free memory, and devices and MiB free or being released."""

    __slots__ = ("free", "free_memory", "leaving", "leaving_memory", "room")

    def __init__(self, n_nodes: int) -> None:
        self.room = np.full(n_nodes, _NONE, dtype=np.int64)
        self.free, self.leaving = np.zeros(n_nodes), np.zeros(n_nodes)
        self.free_memory, self.leaving_memory = (np.zeros(n_nodes, dtype=np.int64) for _ in range(2))

    def put(self, i: int, shared: SharedGpus | None) -> None:
        """Set the row of a node, which may have no shared devices."""
        self.room[i] = _NONE if shared is None else shared.room
        self.free[i], self.free_memory[i] = (0.0, 0) if shared is None else shared.available()
        self.leaving[i], self.leaving_memory[i] = (0.0, 0) if shared is None else shared.releasing_amounts()
