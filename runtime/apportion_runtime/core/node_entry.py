"""A pod on a node, as the node accounts for it."""

from __future__ import annotations

from typing import NamedTuple

from apportion_runtime.core.resources import GpuRequest, Quantities, Vector, hundredths
from apportion_runtime.core.snapshot import DeviceKey
from apportion_runtime.core.status import PIPELINED, RELEASING
from apportion_runtime.core.task import MIG, Task

_IN_MOTION = (RELEASING, PIPELINED)
"""Statuses that are charged to other amounts than all others."""


class Entry(NamedTuple):
    """What a node charged for a pod: its status at the time, the vector, and the shared devices with their memory.

    `accepted` is the request from which the vector was computed.
    """

    status: int
    charged: Vector
    groups: tuple[str, ...]
    memory: int
    shares: bool
    numa: tuple[tuple[int, tuple[float, ...]], ...] = ()
    devices: tuple[DeviceKey, ...] = ()
    accepted: Vector | None = None

    def is_of(self, task: Task) -> bool:
        """Return whether a pod without claims is charged the same to the same amounts."""
        if self.accepted is not task.accepted or self.numa != task.numa:
            return False
        if self.shares and self.groups != task.gpu_groups:
            return False
        return self.status == task.status or not (self.status in _IN_MOTION or task.status in _IN_MOTION)

    def in_state(self, task: Task) -> Entry:
        """Return the entry with the status of its pod."""
        return Entry(
            task.status, self.charged, self.groups, self.memory, self.shares, task.numa, self.devices, self.accepted
        )


class AcceptedRequest(NamedTuple):
    """The request that a node accepts and charges for a pod: GPUs, vector, and quantities for queues."""

    gpu: GpuRequest
    vector: Vector
    quantities: Quantities


def is_plainly_charged(task: Task) -> bool:
    """Return whether a pod holds neither MIG instances nor claims, nor resources that are being released."""
    return task.kind != MIG and task.status != PIPELINED and not task.claims and not task.pod.legacy_mig


def accepted_gpus(task: Task) -> float:
    """Return the devices that a node accepted for a pod, to hundredths."""
    return hundredths(task.accepted_gpu.portion) * task.accepted_gpu.count / 100
