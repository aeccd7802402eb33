"""LimitRange: consistency of its bounds, and defaults with unintended effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from apportion_compiler.engines.native.rules.fault import Fault, ignored, pending, rejected
from apportion_compiler.engines.native.rules.quantities import (
    is_extended,
    is_name,
    is_of_containers,
    is_standard,
    may_overcommit,
    parse,
)
from apportion_compiler.plain_objects import Manifest, items, mapping, text

_CONTAINER, _POD, _CLAIM = "Container", "Pod", "PersistentVolumeClaim"
_FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_LOW_HIGH = (
    ("min", "max", "min", "min value {low} is greater than max value {high}"),
    ("min", "defaultRequest", "defaultRequest", "min value {low} is greater than default request value {high}"),
    ("defaultRequest", "max", "defaultRequest", "default request value {low} is greater than max value {high}"),
    ("defaultRequest", "default", "defaultRequest", "default request value {low} is greater than default limit value {high}"),
    ("min", "default", "default", "min value {low} is greater than default value {high}"),
    ("default", "max", "default", "default value {low} is greater than max value {high}"),
)  # fmt: skip
"""Two fields, the first of which must not exceed the second; the field to report; the author of the message."""

_Amounts = Mapping[str, Fraction]


def limit_range(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a LimitRange."""
    seen: set[str] = set()
    for index, limit in enumerate(items(manifest, "spec", "limits")):
        path = f"spec.limits[{index}]"
        kind = text(limit, "type") or ""
        yield from _type(kind, path, seen)
        seen.add(kind)
        yield from _names(limit, kind, path)
        yield from _amounts(limit, kind, path)
        yield from _defaults_of_devices(limit, kind, path)


def _type(kind: str, path: str, seen: set[str]) -> Iterator[Fault]:
    if not is_name(kind) or ("/" not in kind and kind not in (_CONTAINER, _POD, _CLAIM)):
        yield rejected(
            f"{path}.type",
            "Invalid",
            f"{kind} is not a limit type" if kind else "must be set",
            f"use {_CONTAINER}, {_POD} or {_CLAIM}",
        )
    if kind in seen:
        yield rejected(f"{path}.type", "Duplicate", f"{kind} already has limits", f"merge the {kind} entries")


def _names(limit: object, kind: str, path: str) -> Iterator[Fault]:
    for field in _FIELDS:
        given = mapping(limit, field)
        if kind == _POD and field in ("default", "defaultRequest"):
            if given:
                yield rejected(
                    f"{path}.{field}",
                    "Forbidden",
                    f"may not be specified when `type` is '{_POD}'",
                    f"move {field} to an entry of type {_CONTAINER}",
                )
            continue
        for resource, amount in given.items():
            at = f"{path}.{field}[{resource}]"
            of_containers = kind in (_POD, _CONTAINER)
            if not is_name(resource) or (
                not is_of_containers(resource) if of_containers else "/" not in resource and not _is_known(resource)
            ):
                yield rejected(
                    at,
                    "Invalid",
                    f"{resource} must be a standard resource for containers or fully qualified",
                    "use cpu, memory, or a fully qualified name, such as nvidia.com/gpu",
                )
            elif parse(amount) is None:
                yield rejected(at, "Invalid", f"{amount} is not a quantity", "use a quantity such as 4, 500m or 8Gi")


def _is_known(resource: str) -> bool:
    """Return whether a name without a domain is a known resource."""
    return is_standard(resource) or resource == "storage"


def _amounts(limit: object, kind: str, path: str) -> Iterator[Fault]:
    given = {field: _parsed(mapping(limit, field)) for field in _FIELDS}
    if kind == _POD:
        given |= {"default": {}, "defaultRequest": {}}
    if kind == _CLAIM and "storage" not in given["min"] and "storage" not in given["max"]:
        yield rejected(
            f"{path}.limits",
            "Required",
            "either minimum or maximum storage value is required, but neither was provided",
            "set min or max for storage",
        )
    for resource in sorted({resource for amounts in given.values() for resource in amounts}):
        for low, high, where, words in _LOW_HIGH:
            first, second = given[low].get(resource), given[high].get(resource)
            if first is not None and second is not None and first > second:
                shown = words.format(low=mapping(limit, low)[resource], high=mapping(limit, high)[resource])
                yield rejected(f"{path}.{where}[{resource}]", "Invalid", shown, f"lower {low}, or raise {high}")
        yield from _ratio(resource, given, path)
        default, request = given["default"].get(resource), given["defaultRequest"].get(resource)
        if not may_overcommit(resource) and default is not None and request is not None and default != request:
            yield rejected(
                f"{path}.defaultRequest[{resource}]",
                "Invalid",
                f"default value {mapping(limit, 'default')[resource]} must equal to defaultRequest value "
                f"{mapping(limit, 'defaultRequest')[resource]} in {resource}",
                "remove default and defaultRequest: devices cannot be overcommitted",
            )


def _ratio(resource: str, given: Mapping[str, _Amounts], path: str) -> Iterator[Fault]:
    ratio, low, high = (given[field].get(resource) for field in ("maxLimitRequestRatio", "min", "max"))
    at = f"{path}.maxLimitRequestRatio[{resource}]"
    if ratio is None:
        return
    if ratio < 1:
        yield rejected(at, "Invalid", "the ratio is less than 1", "use a value of at least 1")
    elif low and high is not None and ratio > high / low:
        yield rejected(at, "Invalid", "the ratio exceeds max/min", "lower the ratio to at most max/min")


def _defaults_of_devices(limit: object, kind: str, path: str) -> Iterator[Fault]:
    """Yield faults of defaults for devices: they apply to every container."""
    if kind != _CONTAINER:
        return
    default, request = mapping(limit, "default"), mapping(limit, "defaultRequest")
    for resource in dict.fromkeys((*default, *request)):
        if not is_extended(resource) or not (parse(default.get(resource, request.get(resource))) or 0):
            continue
        if resource not in default:
            yield pending(
                f"{path}.defaultRequest[{resource}]",
                "RequestWithoutLimit",
                f"pods cannot be created: their containers get a request for {resource} but no limit, "
                "which extended resources require",
                f"remove {resource} from the LimitRange",
            )
            continue
        yield ignored(
            f"{path}.default[{resource}]",
            "DefaultForAll",
            "every container without its own amount, including init containers and sidecars, gets "
            f"{default[resource]} {resource}, so even workloads that do not need the device wait for it",
            f"remove {resource} from the LimitRange, and request it in the container that uses it",
        )


def _parsed(given: Mapping[str, object]) -> _Amounts:
    read = {resource: parse(amount) for resource, amount in given.items()}
    return {resource: amount for resource, amount in read.items() if amount is not None}
