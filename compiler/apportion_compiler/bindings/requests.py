"""Resource requests of pods, exactly: sums and maxima of Kubernetes quantities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.workload_shapes import Node, PodSet, found, mapping, sequence
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import (
    Unlimited,
    count_text,
    cpu_text,
    gpu_text,
    parse_count,
    parse_cpu,
    parse_gpu,
    parse_memory,
)
from apportion_policy.quantity import memory_text as bytes_text

Requests = Mapping[str, int]
"""Millicores, bytes, thousandths of a GPU, whole devices of anything else, by the Kubernetes name of the resource."""

_BYTES = ("memory", "ephemeral-storage", "hugepages-")


def pod_requests(spec: Node) -> Requests:
    """Return the requests of a pod spec: the sum of its containers, or those of an init container if larger.

    A limit is the default of a missing request.

    Raises:
        BindingError: If an amount is not a quantity.
    """
    # A sidecar (an init container that always restarts) runs in parallel with the containers.
    starting = [mapping(c) for c in sequence(spec.get("initContainers"))]
    sidecars = [c for c in starting if c.get("restartPolicy") == "Always"]
    running = _sum(_container(mapping(c)) for c in [*sequence(spec.get("containers")), *sidecars])
    return largest([running, *(_container(c) for c in starting if c not in sidecars)])


def total(pods: Iterable[PodSet]) -> Requests:
    """Return the sum of the requests of all pods of workloads."""
    return _sum({r: n * set_.count for r, n in pod_requests(set_.spec).items()} for set_ in pods)


def largest(requests: Iterable[Requests]) -> Requests:
    """Return the largest amount of each resource."""
    found: dict[str, int] = {}
    for asked in requests:
        for resource, amount in asked.items():
            found[resource] = max(found.get(resource, 0), amount)
    return found


def quantities(requests: Requests) -> dict[str, str]:
    """Return amounts as Kubernetes quantities."""
    return {resource: _text(resource, amount) for resource, amount in requests.items()}


def _sum(requests: Iterable[Requests]) -> Requests:
    added: dict[str, int] = {}
    for asked in requests:
        for resource, amount in asked.items():
            added[resource] = added.get(resource, 0) + amount
    return added


def _container(container: Node) -> Requests:
    limits = mapping(found(container, "resources", "limits"))
    requests = mapping(found(container, "resources", "requests"))
    return {resource: _amount(resource, value) for resource, value in {**limits, **requests}.items()}


def _amount(resource: str, value: object) -> int:
    parse = parse_count
    if resource == "cpu":
        parse = parse_cpu
    elif resource == GPU_RESOURCE:
        parse = parse_gpu
    elif resource.startswith(_BYTES):
        parse = parse_memory
    try:
        amount = parse(value if isinstance(value, int | float) else str(value))
    except QuantityError as wrong:
        raise BindingError(f"a container's {resource} request is invalid: {wrong}") from wrong
    if isinstance(amount, Unlimited):
        raise BindingError(f"a container's {resource} request cannot be unlimited")
    return amount


def _text(resource: str, amount: int) -> str:
    if resource == "cpu":
        return cpu_text(amount)
    if resource == GPU_RESOURCE:
        return gpu_text(amount)
    return bytes_text(amount) if resource.startswith(_BYTES) else count_text(amount)
