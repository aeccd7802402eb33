"""Kubernetes quantities as exact numbers, and the resources allowed in each place.

Source: k8s.io/apimachinery/pkg/api/resource/quantity.go; pkg/apis/core/helper/helpers.go at v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from apportion_compiler.kubernetes_names import is_label_key

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,3}))?")
_SUFFIXES: Mapping[str, Fraction] = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": Fraction(10**3),
    **{letter: Fraction(10 ** (3 * power)) for power, letter in enumerate("MGTPE", start=2)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}  # fmt: skip

STANDARD_QUOTA_RESOURCES = frozenset(
    {
        "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
        "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods",
        "resourcequotas", "services", "replicationcontrollers", "secrets", "persistentvolumeclaims", "configmaps",
        "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
COUNTS = frozenset(
    {
        "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
"""Resources with integer amounts."""

_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
_REQUESTS = "requests."
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def parse(value: object) -> Fraction | None:
    """Return a quantity's number; None if it is invalid."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    number, suffix, exponent = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix] if suffix else Fraction(1)
    return Fraction(number) * scale


def is_name(resource: str) -> bool:
    """Return whether text is a valid resource name."""
    return is_label_key(resource)


def is_standard(resource: str) -> bool:
    """Return whether a name without a domain is a standard resource of quotas."""
    return resource in STANDARD_QUOTA_RESOURCES or resource.startswith(_HUGE_PAGES)


def is_native(resource: str) -> bool:
    """Return whether a resource is Kubernetes' own: without a domain, or in a domain of kubernetes.io."""
    return "/" not in resource or "kubernetes.io/" in resource


def is_extended(resource: str) -> bool:
    """Return whether a resource is an extended resource, such as `nvidia.com/gpu`."""
    return not is_native(resource) and not resource.startswith(_REQUESTS) and is_name(_REQUESTS + resource)


def is_counted_extended(resource: str) -> bool:
    """Return whether a quota's key counts an extended resource: Kubernetes supports only the form `requests.`."""
    return not is_native(resource) and resource.startswith(_REQUESTS)


def is_of_containers(resource: str) -> bool:
    """Return whether a container may request a resource."""
    if "/" not in resource:
        return resource in _CONTAINER_RESOURCES or resource.startswith(_HUGE_PAGES[0])
    return is_native(resource) or is_extended(resource)


def may_overcommit(resource: str) -> bool:
    """Return whether a container's limit may exceed its request."""
    return is_native(resource) and not resource.startswith(_HUGE_PAGES[0])
