"""Fragmentation: the part of the free GPUs that could not have been used, by its best-known measure.

Source:
    Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
    USENIX ATC 2023. Their measure includes CPUs; this one only GPUs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from apportion_runtime.sim.history import History, PodStay

_NOTHING = 1e-6
_SIZE, _GOES, _COMES = range(3)
"""The changes of a node, in the order in which they apply at the same time."""


def fragmentation(history: History) -> float | None:
    """Return the fraction of the free GPU time that a random pod of this load could not have used.

    A pod cannot use a node with less than its request, nor shared devices if it requests whole ones. None if no pod
    requests a GPU, or if no GPU was ever free.
    """
    asked = Counter(round(stay.gpus, 3) for stay in history.stays if stay.gpus > _NOTHING)
    if not asked:
        return None
    demand = _Demand.of(asked)
    free = unusable = 0.0
    stays: dict[str, list[PodStay]] = {}
    for stay in history.stays:
        if stay.gpus > _NOTHING:
            stays.setdefault(stay.node, []).append(stay)
    for node, sizes in history.machines.items():
        for seconds, machine in _moments(sizes, stays.get(node, ()), history.ended_s):
            free += seconds * machine.free
            unusable += seconds * demand.unusable(machine)
    return unusable / free if free > _NOTHING else None


@dataclass(slots=True)
class _Machine:
    """The allocation of one node: whole devices, and the used part of each shared device."""

    size: float = 0.0
    whole: float = 0.0
    shared: dict[str, float] = field(default_factory=dict)

    @property
    def n_free(self) -> float:
        """Completely free devices."""
        return max(0.0, self.size - self.whole - len(self.shared))

    @property
    def rests(self) -> list[float]:
        """The free part of each shared device."""
        return [max(0.0, 1.0 - used) for used in self.shared.values()] if self.size else []

    @property
    def free(self) -> float:
        return self.n_free + sum(self.rests)

    def change(self, stay: PodStay, sign: int) -> None:
        """Add a pod (1) or remove it (-1)."""
        if not stay.devices:
            self.whole += sign * stay.gpus
            return
        for device in stay.devices:
            left = self.shared.get(device, 0.0) + sign * stay.gpus / len(stay.devices)
            if left > _NOTHING:
                self.shared[device] = left
            else:
                self.shared.pop(device, None)


@dataclass(frozen=True, slots=True)
class _Demand:
    """The distribution of requests over all pods: running sums over fractions and whole devices."""

    parts: Sequence[float]
    below_parts: Sequence[float]
    wholes: Sequence[float]
    below_wholes: Sequence[float]

    @classmethod
    def of(cls, asked: Counter[float]) -> _Demand:
        total = asked.total()

        def sums(sizes: Iterable[float]) -> tuple[list[float], list[float]]:
            ordered = sorted(sizes)
            below = [0.0]
            for size in ordered:
                below.append(below[-1] + asked[size] / total)
            return ordered, below

        return cls(*sums(size for size in asked if size < 1), *sums(size for size in asked if size >= 1))

    def unusable(self, machine: _Machine) -> float:
        """Return the free GPUs of a node that a pod cannot use, as the mean over all pods."""
        whole = machine.n_free
        found = whole * (self.below_wholes[-1] - self.below_wholes[bisect_right(self.wholes, whole + _NOTHING)])
        for rest in machine.rests:
            too_big = self.below_parts[-1] - self.below_parts[bisect_right(self.parts, rest + _NOTHING)]
            found += rest * (too_big + self.below_wholes[-1])
        return found


def _moments(
    sizes: Sequence[tuple[float, float]], stays: Iterable[PodStay], until_s: float
) -> Iterable[tuple[float, _Machine]]:
    """Yield the states of a node with their durations; the machine is one object that changes."""
    changes: list[tuple[float, int, float, PodStay | None]] = [(at, _SIZE, gpus, None) for at, gpus in sizes]
    for stay in stays:
        changes.append((stay.since_s, _COMES, 0.0, stay))
        changes.append((stay.until_s, _GOES, 0.0, stay))
    changes.sort(key=lambda change: change[:2])
    machine, last = _Machine(), 0.0
    for at, what, gpus, pod in changes:
        if at > last:
            yield at - last, machine
            last = at
        if pod is None:
            machine.size = gpus
        else:
            machine.change(pod, 1 if what == _COMES else -1)
    if until_s > last:
        yield until_s - last, machine
