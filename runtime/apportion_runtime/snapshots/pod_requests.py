"""Requests of pods and capacity of nodes in kube-scheduler's units: millicores, bytes, and plain counts.

Source: k8s.io/component-helpers/resource (PodRequests), pkg/scheduler/framework/types.go (Resource).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from apportion_api.kubernetes.names import AMD_GPU_RESOURCE, GPU_RESOURCE
from apportion_runtime.snapshots.quantities import parse_quantity, thousandths, whole

CPU, MEMORY, PODS = "cpu", "memory", "pods"
_NONZERO = {CPU: 100, MEMORY: 200 * 1024 * 1024}
"""The default request of a container in scores (pkg/scheduler/util/pod_resources.go)."""
GPUS = frozenset((GPU_RESOURCE, AMD_GPU_RESOURCE, "aliyun.com/gpu", "gpu.intel.com/i915"))

Amounts = Mapping[str, int]


def amount(name: str, written: str | float) -> int:
    """Return a quantity of a resource. Raises `ValueError`."""
    nanos = parse_quantity(written)
    return thousandths(nanos) if name == CPU else whole(nanos)


def amounts(written: object) -> dict[str, int]:
    """Return a list of resources, such as `requests`; None is empty. Raises `ValueError`."""
    if not written:
        return {}
    if not isinstance(written, Mapping):
        raise ValueError(f"`{str(written)[:64]}` is not a mapping of resources to quantities")
    return {name: amount(name, value) for name, value in cast("Mapping[str, Any]", written).items()}


def is_scalar(name: str) -> bool:
    """Return whether scores ignore a resource that a pod does not request."""
    return "/" in name or name.startswith("hugepages-")


def is_extended(name: str) -> bool:
    """Return whether a resource is an extended one, which is not Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def pod_requests(spec: Mapping[str, Any], *, nonzero: bool = False, side: str = "requests") -> dict[str, int]:
    """Return the total request of a pod: its containers and sidecars, or its largest init container, plus its overhead.

    Args:
        spec: The pod's spec.
        nonzero: Whether a container without a cpu or memory request counts with a default, as in scores.
        side: `requests`, or `limits`.

    Raises:
        ValueError: If an amount cannot be read.
    """
    total = _of_containers(spec, side, nonzero=nonzero)
    total.update(_of_the_pod(spec, side))
    add(total, amounts(spec.get("overhead")))
    return total


def _of_the_pod(spec: Mapping[str, Any], side: str) -> dict[str, int]:
    """Return what a pod requests besides its containers; with limits, its requests have defaults.

    Source: defaultPodRequests of pkg/apis/core/v1/defaults.go at v1.36.3.
    """
    resources = spec.get("resources") or {}
    if side != "requests" or not resources.get("limits"):
        return amounts(resources.get(side))
    of_containers = _of_containers(spec, side, nonzero=False)
    return {
        **amounts(resources["limits"]),
        **{name: of_containers[name] for name in _NONZERO if name in of_containers},
        **amounts(resources.get("requests")),
    }


def _of_containers(spec: Mapping[str, Any], side: str, *, nonzero: bool) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        add(total, _of(container, side, nonzero=nonzero))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, side, nonzero=nonzero)
        if container.get("restartPolicy") == "Always":
            add(sidecars, own)
            _widen(peak, sidecars)
        else:
            add(own, sidecars)
            _widen(peak, own)
    add(total, sidecars)
    _widen(total, peak)
    return total


def counted_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """Return what a node counts in scores for a pod that is requested as a whole: it has fewer defaults.

    Source: getNonMissingContainerRequests of pkg/scheduler/framework/types.go at v1.36.3.
    """
    asked = pod_requests(spec)
    return {**pod_requests(spec, nonzero=True), **{name: asked[name] for name in _NONZERO if name in asked}}


def is_requested_as_a_whole(spec: Mapping[str, Any]) -> bool:
    """Return whether a pod has requests besides those of its containers."""
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _of(container: Mapping[str, Any], side: str, *, nonzero: bool) -> dict[str, int]:
    own = amounts((container.get("resources") or {}).get(side))
    return {**_NONZERO, **own} if nonzero else own


def total(each: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum of amounts."""
    made: dict[str, int] = {}
    for amounts in each:
        add(made, amounts)
    return made


def add(total: dict[str, int], more: Amounts) -> None:
    """Add to amounts in place."""
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _widen(total: dict[str, int], other: Amounts) -> None:
    for name, value in other.items():
        total[name] = max(total.get(name, 0), value)


def containers_of(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the containers of a pod, init containers first."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()
