"""Resource vectors, and the GPU requests of pods.

A vector has cpu (millicores), memory (bytes), gpu (devices, fractions count) and pods first, then every other resource
that a node or pod of the snapshot names, as 64-bit floats: comparisons depend on the engine's own arithmetic.

Source: pkg/scheduler/api/resource_info/resource_vector.go, gpu_resource_requirment.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Quantities = tuple[float, float, float]
"""What queues account for: cpu, memory, gpu."""

CPU, MEMORY, GPU, PODS = 0, 1, 2, 3
UNLIMITED = -1.0
NO_QUANTITIES: Quantities = (0.0, 0.0, 0.0)

_CORE = ("cpu", "memory", "gpu", "pods")
_MIG_PREFIX = "nvidia.com/mig-"
_MIG = re.compile(r"nvidia\.com/mig-(\d+)g\.(\d+)gb.*")
_PORTION_UNIT = 100
_LEAST = -(2**63)


def accounted(numbers: Sequence[float]) -> Quantities:
    """Return the cpu, memory and gpu of a vector."""
    return numbers[0], numbers[1], numbers[2]


class ResourceIndex:
    """The index of each resource in vectors; grows until a session opens."""

    def __init__(self) -> None:
        self.names: list[str] = list(_CORE)
        self._index = {name: i for i, name in enumerate(_CORE)}
        self._mig: tuple[tuple[int, int], ...] | None = None

    def add(self, names: Iterable[str]) -> None:
        """Add resources that have no index yet."""
        for name in names:
            plain = _plain(name)
            if plain not in self._index:
                self._index[plain] = len(self.names)
                self.names.append(plain)
                self._mig = None

    def get(self, name: str) -> int:
        """Return the index of a resource, or -1."""
        return self._index.get(_plain(name), -1)

    def __len__(self) -> int:
        return len(self.names)

    def vector(self, amounts: Mapping[str, float]) -> Vector:
        """Return amounts as a vector; resources without an index are left out."""
        made = np.zeros(len(self.names))
        for name, amount in amounts.items():
            place = self.get(name)
            if place >= 0:
                made[place] += amount
        return made

    def quantities(self, vector: Vector) -> Quantities:
        """Return the amounts charged to queues; MIG instances count as their GPU slices."""
        gpus = float(vector[GPU])
        for place, slices in self._mig_slices():
            gpus += slices * float(vector[place])
        return float(vector[CPU]), float(vector[MEMORY]), gpus

    def gpus_of_rows(self, rows: npt.NDArray[np.float64]) -> Vector:
        """Return the GPUs charged to queues for each row of vectors, as a new array."""
        gpus: Vector = rows[:, GPU].copy()
        for place, slices in self._mig_slices():
            gpus += slices * rows[:, place]
        return gpus

    def _mig_slices(self) -> tuple[tuple[int, int], ...]:
        if self._mig is None:
            found = ((i, mig_slices(name)) for i, name in enumerate(self.names) if is_mig(name))
            self._mig = tuple((i, slices[0]) for i, slices in found if slices is not None)
        return self._mig


def _plain(name: str) -> str:
    # Every name with this suffix is the GPU resource (resource_vector.go:isGpuResource).
    return "gpu" if name.endswith("gpu") else name


def is_mig(name: str) -> bool:
    """Return whether a resource is an instance of a MIG profile."""
    return name.startswith(_MIG_PREFIX)


def mig_slices(name: str) -> tuple[int, int] | None:
    """Return the GPU slices and gigabytes of a MIG profile; None if the name does not contain them."""
    match = _MIG.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def hundredths(portion: float) -> int:
    """Return a portion of a GPU in hundredths, halves away from zero."""
    if not math.isfinite(portion):
        # A fraction of a device without memory: the result of the engine's conversion to a 64-bit integer.
        return _LEAST
    return math.floor(portion * _PORTION_UNIT + 0.5)


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """The GPUs that a pod requests.

    Attributes:
        count: Devices, or the number of devices of which a fraction is requested.
        portion: Fraction of each device; 1 for whole devices.
        memory: MiB on each device instead of a portion; 0 if a portion is requested.
        dra: Devices by DRA claims.
        mig: Instances by MIG profile.
    """

    count: int = 0
    portion: float = 0.0
    memory: int = 0
    dra: int = 0
    mig: tuple[tuple[str, int], ...] = ()

    @property
    def gpus(self) -> float:
        """Devices by portion, without claims and MIG."""
        return hundredths(self.portion) * self.count / _PORTION_UNIT

    @property
    def quota(self) -> float:
        """Devices charged to queues, including those of claims and MIG slices."""
        if self.portion == 1.0 and not self.mig:
            return float(self.dra) + float(self.count)
        slices = sum((mig_slices(name) or (0, 0))[0] * n for name, n in self.mig)
        return float(slices) + float(self.dra) + self.gpus

    def memory_as_gpus(self, device_memory: int | None) -> float:
        """Return a request for GPU memory in devices of a given memory; 0 for other requests."""
        if self.memory <= 0 or device_memory is None or device_memory <= 0:
            return 0.0
        return self.count * (self.memory / device_memory)


NO_GPUS = GpuRequest()


def whole_or_fraction(gpus: float, memory: int = 0) -> GpuRequest:
    """Return the request for an amount of GPUs, or for memory on one device."""
    if gpus >= 1:
        return GpuRequest(int(gpus), 1.0, memory)
    return GpuRequest(1 if gpus > 0 or memory > 0 else 0, gpus, memory)


def less_equal(left: Sequence[float], right: Sequence[float]) -> bool:
    """Return whether no resource of the left exceeds the right; -1 is unlimited on either side."""
    return not (exceeds(left[0], right[0]) or exceeds(left[1], right[1]) or exceeds(left[2], right[2]))


def exceeds(amount: float, bound: float) -> bool:
    """Compare two amounts, each of which may be -1, unlimited (resource_quantities.go:compareQuantities)."""
    if amount == UNLIMITED:
        return bound != UNLIMITED
    return bound != UNLIMITED and amount > bound


def plus(left: Quantities, right: Quantities) -> Quantities:
    """Return the sum."""
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def minus(left: Quantities, right: Quantities) -> Quantities:
    """Return the difference."""
    return left[0] - right[0], left[1] - right[1], left[2] - right[2]
