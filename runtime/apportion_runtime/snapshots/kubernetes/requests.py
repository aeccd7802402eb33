"""The request of a pod: its containers, sidecars, init containers and overhead.

Source: pkg/scheduler/api/pod_info/pod_info.go (getPodResourceRequest, initContainerEffects),
api/resource_info/resource_requirment.go, gpu_resource_requirment.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_api.kubernetes.names import WHOLE_GPUS
from apportion_runtime.core.resources import GpuRequest, hundredths, is_mig
from apportion_runtime.snapshots.kubernetes.amounts import CPU, MEMORY, PODS, scalar
from apportion_runtime.snapshots.quantities import thousandths, whole

APP, SIDECAR, INIT = "app", "sidecar", "init"


@dataclass(slots=True)
class Requirements:
    """A sum of requests: cpu and memory, other resources, and GPUs as a number of devices times a portion."""

    cpu: int = 0
    memory: int = 0
    scalars: dict[str, int] = field(default_factory=dict)
    count: int = 0
    portion: float = 0.0
    mig: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(quantities: Mapping[str, int]) -> Requirements:
        """Return the request of one resource list."""
        made = Requirements()
        for name, nanos in quantities.items():
            if name == CPU:
                made.cpu += thousandths(nanos)
            elif name == MEMORY:
                made.memory += whole(nanos)
            elif name in WHOLE_GPUS:
                made._add_gpus(whole(nanos))
            elif is_mig(name):
                made.mig[name] = made.mig.get(name, 0) + whole(nanos)
            else:
                amount = scalar(name, nanos)
                if amount is not None:
                    made.scalars[name] = made.scalars.get(name, 0) + amount
        return made

    def _add_gpus(self, gpus: int) -> None:
        if gpus >= 1:
            self.count += gpus
            self.portion = 1.0
        else:
            # A request for zero devices counts as one device without a request.
            self.portion += gpus
            self.count = 1

    def add(self, other: Requirements) -> None:
        """Add; GPUs of different portions cannot be added, so those of the other are left out."""
        self.add_base(other)
        if self.portion == 0 and self.count == 0:
            self.count, self.portion = other.count, other.portion
        elif other.portion != 0 or other.count != 0:
            if self.portion != other.portion:
                return
            self.count += other.count
        for name, count in other.mig.items():
            self.mig[name] = self.mig.get(name, 0) + count

    def add_base(self, other: Requirements) -> None:
        """Add everything but GPUs."""
        self.cpu += other.cpu
        self.memory += other.memory
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + amount

    def widen(self, other: Requirements) -> None:
        """Raise each resource to the larger of both requests."""
        self.cpu, self.memory = max(self.cpu, other.cpu), max(self.memory, other.memory)
        for name, amount in other.scalars.items():
            self.scalars[name] = max(self.scalars.get(name, 0), amount)
        if self.portion != 0 and other.portion not in (0, self.portion):
            return
        if hundredths(other.portion) * other.count > hundredths(self.portion) * self.count:
            self.count, self.portion = other.count, other.portion
        for name, count in other.mig.items():
            self.mig[name] = max(self.mig.get(name, 0), count)

    def vector(self) -> dict[str, float]:
        """Return everything but GPUs in the units of vectors, including the pod slot of the pod."""
        made = {CPU: float(self.cpu), MEMORY: float(self.memory)}
        # A resource that ends in `gpu` is the GPU resource, and the engine overwrites it with the requested GPUs.
        made.update((name, float(amount)) for name, amount in self.scalars.items() if not name.endswith("gpu"))
        made[PODS] = 1.0
        return made

    def gpu(self) -> GpuRequest:
        """Return the GPUs."""
        return GpuRequest(self.count, self.portion, mig=tuple(sorted(self.mig.items())))


def pod_requirements(containers: Sequence[tuple[str, Mapping[str, int]]], overhead: Mapping[str, int]) -> Requirements:
    """Return the request of a pod.

    Args:
        containers: Kind and requests of each, init containers and sidecars in their order.
        overhead: The amounts added by its runtime class.
    """
    sums: dict[str, int] = {}
    for kind, requests in containers:
        if kind == APP:
            for name, nanos in requests.items():
                sums[name] = sums.get(name, 0) + nanos
    made = Requirements.of(sums)
    sidecars, peak = Requirements(), Requirements()
    for kind, requests in containers:
        if kind == SIDECAR:
            sidecars.add(Requirements.of(requests))
        elif kind == INIT:
            alone = Requirements.of(requests)
            alone.add(sidecars)
            peak.widen(alone)
    made.add(sidecars)
    made.widen(peak)
    made.add_base(Requirements.of(overhead))
    return made
