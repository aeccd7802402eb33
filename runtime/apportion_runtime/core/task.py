"""A pod in a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apportion_api.kai.names import TASK_PRIORITY_LABEL
from apportion_api.kubernetes.operators import JOB_ROLE_LABEL, RAY_NODE_TYPE_LABEL
from apportion_runtime.core.resources import (
    NO_GPUS,
    NO_QUANTITIES,
    GpuRequest,
    Quantities,
    ResourceIndex,
    Vector,
)
from apportion_runtime.core.snapshot import Allocation, DeviceKey, Pod
from apportion_runtime.core.status import BINDING, PENDING, RELEASING, RUNNING

REGULAR, FRACTION, BY_MEMORY, MIG = "Regular", "Fraction", "GpuMemory", "MigInstance"
NO_NODE = -1

_FIRST_ROLES = ("master", "launcher")
_RAY_HEAD = "head"


class Shape(NamedTuple):
    """The shape shared by pods with the same request.

    Attributes:
        number: Its number in the session.
        request: What each requests.
        quantities: The same as queues account for it.
        kind: How each requests devices.
        needs_gpu: Whether each requests any.
    """

    number: int
    request: Vector
    quantities: Quantities
    kind: str
    needs_gpu: bool


def shape_of(number: int, gpu: GpuRequest, request: Vector, index: ResourceIndex) -> Shape:
    """Return the shape of pods with a GPU request and a total request vector."""
    kind = _kind(gpu)
    needs_gpu = gpu.gpus > 0 or gpu.dra > 0 or kind in (BY_MEMORY, MIG)
    return Shape(number, request, index.quantities(request), kind, needs_gpu)


class Task:
    """A pod's place in the session. Its request never changes; its status, node and devices do.

    `accepted` is what a node charges for it, which depends on the node if GPU memory is requested.
    """

    __slots__ = (
        "accepted",
        "accepted_gpu",
        "accepted_quantities",
        "claims",
        "gpu",
        "gpu_groups",
        "is_virtual",
        "job",
        "kind",
        "mask",
        "needs_gpu",
        "node",
        "numa",
        "order",
        "pod",
        "pod_set",
        "quantities",
        "received_fraction",
        "request",
        "shape",
        "status",
        "uid",
        "wants_devices",
    )

    def __init__(self, pod: Pod, shape: Shape, plugins: frozenset[str]) -> None:
        self.pod = pod
        self.uid = pod.uid
        self.job = pod.group or ""
        self.pod_set = pod.sub_group or "default"
        self.status = pod.status
        self.node = NO_NODE
        self.gpu: GpuRequest = pod.gpu
        self.shape, self.request, self.quantities, self.kind, self.needs_gpu = shape
        self.accepted = shape.request
        self.accepted_gpu = pod.gpu
        self.accepted_quantities: Quantities = shape.quantities
        self.received_fraction = False
        self.gpu_groups: tuple[str, ...] = pod.gpu_groups
        self.is_virtual = False
        self.numa: tuple[tuple[int, tuple[float, ...]], ...] = ()
        self.order = _order(pod, plugins)
        # What each claim holds; replaced, never changed in place, so that saved values stay valid.
        self.claims: dict[str, Allocation | None] = {}
        self.wants_devices = False
        # Set by `plugins.predicates`.
        self.mask: npt.NDArray[np.bool_] | None = None

    @property
    def gpu_devices(self) -> tuple[DeviceKey, ...]:
        """GPUs that its claims hold."""
        if not self.claims:
            return ()
        held = (allocation for allocation in self.claims.values() if allocation is not None)
        return tuple(key for allocation in held for key in allocation.devices if "gpu" in key[0].lower())

    @property
    def shares_gpu(self) -> bool:
        """Whether the pod requests a fraction of a device."""
        return self.kind in (FRACTION, BY_MEMORY)

    def clear_charge(self) -> None:
        """Clear the charge to its queue: its node does not exist."""
        self.accepted, self.accepted_gpu = np.zeros_like(self.request), NO_GPUS
        self.accepted_quantities = NO_QUANTITIES

    def is_bound_as_decided(self, pod: Pod, nodes: Sequence[str]) -> bool:
        """Return whether the pod runs on the node, and on the shared devices, to which it was bound."""
        return (
            self.status == BINDING
            and pod.status == RUNNING
            and nodes[self.node] == pod.node
            and self.gpu_groups == pod.gpu_groups
            and not (self.claims or self.numa or self.wants_devices)
            and pod.differs_in_state(self.pod)
        )

    def to_allocate(self, *, real: bool) -> bool:
        """Return whether the pod must be placed: pending, or evicted by the current simulation."""
        return self.status == PENDING or (not real and self.status == RELEASING and self.is_virtual)

    def __repr__(self) -> str:
        return f"Task({self.uid})"


def _kind(gpu: GpuRequest) -> str:
    if gpu.mig:
        return MIG
    if 0 < gpu.portion < 1:
        return FRACTION
    return BY_MEMORY if gpu.memory > 0 else REGULAR


def _order(pod: Pod, plugins: frozenset[str]) -> tuple[object, ...]:
    """Return the key of the order among a group's pods: roles that start first, the label, age, id."""
    if not pod.labels:
        return (True, True, 1, 0.0, pod.created, pod.uid)
    kubeflow, ray = pod.labels.get(JOB_ROLE_LABEL) in _FIRST_ROLES, pod.labels.get(RAY_NODE_TYPE_LABEL) == _RAY_HEAD
    text = pod.labels.get(TASK_PRIORITY_LABEL) if "taskorder" in plugins else None
    rank = (1, 0.0)
    if text is not None:
        try:
            rank = (0, -float(int(text)))
        except ValueError:
            rank = (0, float("inf"))
    return (not (kubeflow and "kubeflow" in plugins), not (ray and "ray" in plugins), *rank, pod.created, pod.uid)
