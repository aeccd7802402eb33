"""ResourceQuota. Unknown names are rejected or, if they have a domain, stored and never counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.fields import Manifest
from apportion_api.kubernetes.objects import QuotaScope, ResourceQuota
from apportion_api.objects import read
from apportion_compiler.engines.native.rules.fault import Fault, ignored, rejected
from apportion_compiler.engines.native.rules.quantities import (
    COUNTS,
    is_counted_extended,
    is_extended,
    is_name,
    is_native,
    is_standard,
    parse,
)

_POD_COMPUTE = frozenset(
    {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
)  # fmt: skip
_OF_SCOPE: Mapping[str, frozenset[str]] = {
    "Terminating": _POD_COMPUTE,
    "NotTerminating": _POD_COMPUTE,
    "NotBestEffort": _POD_COMPUTE,
    "PriorityClass": _POD_COMPUTE,
    "CrossNamespacePodAffinity": _POD_COMPUTE,
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""The standard resources that each scope supports."""
_EXISTS_ONLY = frozenset({"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"})
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_LIMITS = "limits."
_COUNT = "count/"
_BY_CLASS = ".k8s.io/"
"""Suffixes of storage by storage class and of devices by device class."""


def resource_quota(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a ResourceQuota."""
    quota = read(ResourceQuota, manifest)
    for resource, amount in quota.hard.items():
        yield from _hard(resource, amount)
    yield from _scopes(quota.scopes, quota.hard, "spec.scopes")
    path = "spec.scopeSelector.matchExpressions"
    yield from _scopes([scope.name for scope in quota.selected], quota.hard, path)
    for scope in quota.selected:
        yield from _expression(scope, path)
    if before is not None and set(quota.scopes) != set(read(ResourceQuota, before).scopes):
        yield rejected(
            "spec.scopes",
            "Invalid",
            "field is immutable",
            "create a quota with a different name, and delete this quota",
        )


def _hard(resource: str, amount: object) -> Iterator[Fault]:
    field = f"spec.hard[{resource}]"
    if not is_name(resource) or ("/" not in resource and not is_standard(resource)):
        yield rejected(
            field,
            "Invalid",
            f"quotas do not support {resource}: names without a domain are reserved for Kubernetes",
            "include the device's domain, as in requests.nvidia.com/gpu"
            if "gpu" in resource
            else "use a standard resource, or `requests.` followed by the full name of an extended resource",
        )
        return
    number = parse(amount)
    if number is None:
        yield rejected(field, "Invalid", f"{amount} is not a quantity", "use a quantity such as 8, 500m or 64Gi")
    elif number < 0:
        yield rejected(field, "Invalid", f"{amount} is negative", "use 0 to forbid the resource")
    elif (resource in COUNTS or is_extended(resource)) and number.denominator != 1:
        yield rejected(field, "Invalid", f"{amount} is not an integer", "use an integer")
    yield from _uncounted(resource, field)


def _uncounted(resource: str, field: str) -> Iterator[Fault]:
    if is_native(resource) or is_counted_extended(resource) or resource.startswith(_COUNT) or _BY_CLASS in resource:
        return
    device = resource.removeprefix(_LIMITS)
    # Devices cannot be overcommitted, so a quota counts only their requests.
    yield ignored(
        field,
        "Uncounted",
        f"{resource} has no effect: for extended resources, only requests.{device} is counted",
        f"set requests.{device}, and remove {resource}",
    )


def _scopes(scopes: Sequence[str], hard: Mapping[str, object], field: str) -> Iterator[Fault]:
    for scope in scopes:
        if scope not in _OF_SCOPE:
            yield rejected(field, "Invalid", f"{scope} is an unsupported scope", f"use one of {', '.join(_OF_SCOPE)}")
            continue
        for resource in sorted(hard):
            if is_standard(resource) and resource not in _OF_SCOPE[scope]:
                yield rejected(
                    field,
                    "Invalid",
                    f"scope {scope} does not apply to {resource}",
                    f"move {resource} to a quota without the scope",
                )
    for one, other in _OPPOSITES:
        if one in scopes and other in scopes:
            yield rejected(
                field, "Invalid", f"scopes {one} and {other} conflict", "create a separate quota for each scope"
            )


def _expression(selected: QuotaScope, path: str) -> Iterator[Fault]:
    scope, operator, values = selected.name, selected.operator, selected.values
    if scope in _EXISTS_ONLY and operator != "Exists":
        yield rejected(f"{path}.operator", "Invalid", f"must be Exists for scope {scope}", "use Exists")
    if operator in ("In", "NotIn"):
        if not values:
            yield rejected(f"{path}.values", "Required", f"{operator} requires at least one value", "set values")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield rejected(f"{path}.values", "Invalid", f"{operator} does not accept values", "remove values")
    else:
        yield rejected(
            f"{path}.operator",
            "Invalid",
            f"{operator} is not a valid selector operator" if operator else "must be set",
            "use In, NotIn, Exists or DoesNotExist",
        )
