"""The LimitRanger admission plugin: default requests and limits of containers, and their bounds.

Source: plugin/pkg/admission/limitranger/admission.go, pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem) at
Kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apportion_runtime.admission.objects import name_of
from apportion_runtime.sim.api.resource_quotas import quantity_text
from apportion_runtime.sim.engine import Denied
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import CPU, pod_requests
from apportion_runtime.snapshots.quantities import NANO, parse_quantity

_CONTAINER, _POD = "Container", "Pod"
Written = Mapping[str, Any]


def with_defaults(made: Manifest, ranges: Sequence[Manifest]) -> Manifest:
    """Return a pod with the defaults of limit ranges for unset requests and limits."""
    for limit_range in ranges:
        limits: dict[str, Any] = {}
        requests: dict[str, Any] = {}
        for item in limit_range["spec"].get("limits") or ():
            if item.get("type") == _CONTAINER:
                own_limits, own_requests = _defaults(item)
                limits.update(own_limits)
                requests.update(own_requests)
        spec = dict(made["spec"])
        for key in ("containers", "initContainers"):
            if spec.get(key):
                spec[key] = [_merged(container, limits, requests) for container in spec[key]]
        made = {**made, "spec": spec}
    return made


def _defaults(item: Written) -> tuple[dict[str, Any], dict[str, Any]]:
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    return limits, requests


def _merged(container: Written, limits: Written, requests: Written) -> dict[str, Any]:
    message = container.get("resources") or {}
    own = {
        "limits": {**limits, **(message.get("limits") or {})},
        "requests": {**requests, **(message.get("requests") or {})},
    }
    return {**container, "resources": {**message, **{key: value for key, value in own.items() if value}}}


def check_limits(made: Manifest, ranges: Sequence[Manifest]) -> None:
    """Reject a pod that violates a limit range.

    Raises:
        Denied: With the API server's message for the first violated range.
    """
    for limit_range in ranges:
        faults = list(_faults(made["spec"], limit_range["spec"].get("limits") or ()))
        if faults:
            message = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
            raise Denied(f'pods "{name_of(made)}" is forbidden: {message}')


def _faults(spec: Written, items: Sequence[Written]) -> Iterator[str]:
    for item in items:
        kind = str(item.get("type"))
        if kind == _CONTAINER:
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                message = container.get("resources") or {}
                yield from _broken(item, kind, message.get("requests") or {}, message.get("limits") or {})
        elif kind == _POD:
            yield from _broken(item, kind, _totals(spec, "requests"), _totals(spec, "limits"))


def _totals(spec: Written, side: str) -> dict[str, str]:
    return {
        name: f"{amount}m" if name == CPU else str(amount) for name, amount in pod_requests(spec, side=side).items()
    }


def _broken(item: Written, kind: str, requests: Written, limits: Written) -> Iterator[str]:
    for name, least in (item.get("min") or {}).items():
        message = f"minimum {name} usage per {kind} is {_text(name, least)}"
        if name not in requests:
            yield f"{message}.  No request is specified"
        elif parse_quantity(requests[name]) < parse_quantity(least):
            yield f"{message}, but request is {_text(name, requests[name])}"
        elif name in limits and parse_quantity(limits[name]) < parse_quantity(least):
            yield f"{message}, but limit is {_text(name, limits[name])}"
    for name, most in (item.get("max") or {}).items():
        message = f"maximum {name} usage per {kind} is {_text(name, most)}"
        if name not in limits:
            yield f"{message}.  No limit is specified"
        elif parse_quantity(limits[name]) > parse_quantity(most):
            yield f"{message}, but limit is {_text(name, limits[name])}"
        elif name in requests and parse_quantity(requests[name]) > parse_quantity(most):
            yield f"{message}, but request is {_text(name, requests[name])}"
    for name, most in (item.get("maxLimitRequestRatio") or {}).items():
        message = f"{name} max limit to request ratio per {kind} is {_text(name, most)}"
        if not parse_quantity(requests.get(name, 0)):
            yield f"{message}, but no request is specified or request is 0"
        elif not parse_quantity(limits.get(name, 0)):
            yield f"{message}, but no limit is specified or limit is 0"
        else:
            ratio = parse_quantity(limits[name]) / parse_quantity(requests[name])
            if ratio > parse_quantity(most) / NANO:
                yield f"{message}, but provided ratio is {ratio:f}"


def _text(name: str, written: str) -> str:
    return quantity_text(name, parse_quantity(written))
