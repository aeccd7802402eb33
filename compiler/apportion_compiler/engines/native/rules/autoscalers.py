"""HorizontalPodAutoscaler (`autoscaling/v2`): its replicas, its metrics, and metrics that are never served."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.engines.native.rules.fault import Fault, ignored, rejected
from apportion_compiler.engines.native.rules.quantities import parse
from apportion_compiler.plain_objects import Manifest, integer, items, mapping, text

_SOURCES: Mapping[str, str] = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}
"""The field that each type of metric requires."""
_OF_RESOURCES = frozenset({"resource", "containerResource"})
_TARGETS = ("Utilization", "Value", "AverageValue")
_MEASURED = frozenset({"cpu", "memory"})
"""The pod metrics that the resource metrics API (metrics.k8s.io) serves."""
_MAX_WINDOW_S, _MAX_PERIOD_S = 3600, 1800


def autoscaler(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a HorizontalPodAutoscaler."""
    metrics = items(manifest, "spec", "metrics")
    yield from _replicas(manifest, metrics)
    for field in ("kind", "name"):
        if text(manifest, "spec", "scaleTargetRef", field) is None:
            yield rejected(f"spec.scaleTargetRef.{field}", "Required", "scaleTargetRef is missing", f"set the {field}")
    for index, metric in enumerate(metrics):
        yield from _metric(metric, f"spec.metrics[{index}]")
    for direction in ("scaleUp", "scaleDown"):
        rules = mapping(manifest, "spec", "behavior", direction)
        if rules:
            yield from _scaling(rules, f"spec.behavior.{direction}")


def _replicas(manifest: Manifest, metrics: Sequence[object]) -> Iterator[Fault]:
    least, most = integer(manifest, "spec", "minReplicas"), integer(manifest, "spec", "maxReplicas")
    if not most:
        yield rejected("spec.maxReplicas", "Required", "must be set and greater than 0", "set maxReplicas")
    elif most < 0:
        yield rejected(
            "spec.maxReplicas", "Invalid", "must be greater than or equal to 1", "set maxReplicas to 1 or more"
        )
    if least is None:
        return
    if least < 1:
        # The feature gate HPAScaleToZero is off by default, and requires a metric that exists without pods.
        yield rejected("spec.minReplicas", "Invalid", "must be greater than or equal to 1", "use 1")
        if least == 0 and not any(text(metric, "type") in ("Object", "External") for metric in metrics):
            yield rejected(
                "spec.metrics",
                "Forbidden",
                "must specify at least one Object or External metric to support scaling to zero replicas",
                "set minReplicas: 1",
            )
    if most is not None and most < least:
        yield rejected(
            "spec.maxReplicas",
            "Invalid",
            "must be greater than or equal to `minReplicas`",
            "raise maxReplicas, or lower minReplicas",
        )


def _metric(metric: object, path: str) -> Iterator[Fault]:
    kind = text(metric, "type") or ""
    present = [field for field in _SOURCES.values() if isinstance(mapping(metric).get(field), Mapping)]
    expected = _SOURCES.get(kind)
    if expected is None:
        yield rejected(
            f"{path}.type",
            "NotSupported" if kind else "Required",
            f"{kind} is not a metric type" if kind else "must specify a metric source type",
            f"use one of {', '.join(_SOURCES)}",
        )
    elif expected not in present:
        yield rejected(
            f"{path}.{expected}",
            "Required",
            "must populate information for the given metric source",
            f"set the fields of {expected}",
        )
    for field in present:
        if len(present) > 1 and field != expected:
            yield rejected(
                f"{path}.{field}", "Forbidden", "must populate the given metric source only", f"remove {field}"
            )
    if len(present) == 1:
        yield from _source(mapping(metric, present[0]), present[0], f"{path}.{present[0]}")


def _source(source: Mapping[str, object], field: str, path: str) -> Iterator[Fault]:
    target = mapping(source, "target")
    yield from _target(target, f"{path}.target")
    if field in _OF_RESOURCES:
        yield from _resource(source, target, field, path)
        return
    if text(source, "metric", "name") is None:
        yield rejected(f"{path}.metric.name", "Required", "must specify a metric name", "set the metric name")
    if field == "pods" and target.get("averageValue") is None:
        yield rejected(
            f"{path}.target.averageValue",
            "Required",
            "must specify a positive target averageValue",
            "set averageValue to a positive quantity",
        )
    if field != "pods" and target.get("averageValue") is None and target.get("value") is None:
        yield rejected(
            f"{path}.target.averageValue",
            "Required",
            "must set either a target value or averageValue",
            "set value or averageValue",
        )
    if field == "external" and target.get("averageValue") is not None and target.get("value") is not None:
        yield rejected(
            f"{path}.target.value",
            "Forbidden",
            "may not set both a target value and a per-pod target",
            "remove value or averageValue",
        )


def _resource(source: Mapping[str, object], target: Mapping[str, object], field: str, path: str) -> Iterator[Fault]:
    name = text(source, "name")
    if name is None:
        yield rejected(f"{path}.name", "Required", "must specify a resource name", "use cpu or memory")
    elif name not in _MEASURED:
        yield ignored(
            f"{path}.name",
            "MetricNeverServed",
            f"the autoscaler never scales: the resource metrics API provides only cpu and memory, not {name}",
            "use a Pods metric, such as DCGM_FI_DEV_GPU_UTIL from NVIDIA's dcgm-exporter, with a metrics adapter"
            if "gpu" in name
            else "use a Pods or External metric from a metrics adapter",
        )
    if field == "containerResource" and text(source, "container") is None:
        yield rejected(f"{path}.container", "Required", "must specify a container", "set the container name")
    utilization, value = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and value is None:
        yield rejected(
            f"{path}.target.averageUtilization",
            "Required",
            "must set either a target raw value or a target utilization",
            "set averageUtilization or averageValue",
        )
    if utilization is not None and value is not None:
        yield rejected(
            f"{path}.target.averageValue",
            "Forbidden",
            "may not set both a target raw value and a target utilization",
            "remove averageUtilization or averageValue",
        )


def _target(target: Mapping[str, object], path: str) -> Iterator[Fault]:
    kind = text(target, "type")
    if kind is None:
        yield rejected(f"{path}.type", "Required", "must specify a metric target type", f"use {_TARGETS[2]}")
    elif kind not in _TARGETS:
        yield rejected(f"{path}.type", "Invalid", f"must be either {', '.join(_TARGETS)}", f"use {_TARGETS[2]}")
    for field in ("value", "averageValue"):
        amount = target.get(field)
        if amount is not None and (parse(amount) or 0) <= 0:
            yield rejected(f"{path}.{field}", "Invalid", "must be positive", "use a positive quantity")
    utilization = target.get("averageUtilization")
    if isinstance(utilization, int) and utilization < 1:
        yield rejected(f"{path}.averageUtilization", "Invalid", "must be greater than 0", "use a percentage above 0")


def _scaling(rules: Mapping[str, object], path: str) -> Iterator[Fault]:
    window = integer(rules, "stabilizationWindowSeconds")
    if window is not None and not 0 <= window <= _MAX_WINDOW_S:
        yield rejected(
            f"{path}.stabilizationWindowSeconds",
            "Invalid",
            f"must be between 0 and {_MAX_WINDOW_S}",
            f"use a value of at most {_MAX_WINDOW_S}",
        )
    selected = rules.get("selectPolicy")
    if selected is not None and selected not in ("Max", "Min", "Disabled"):
        yield rejected(
            f"{path}.selectPolicy", "NotSupported", f"{selected} is not supported", "use Max, Min or Disabled"
        )
    if "policies" in rules and not items(rules, "policies"):
        yield rejected(f"{path}.policies", "Required", "must specify at least one Policy", "remove `policies`")
    for index, policy in enumerate(items(rules, "policies")):
        at = f"{path}.policies[{index}]"
        if text(policy, "type") not in ("Pods", "Percent"):
            yield rejected(f"{at}.type", "NotSupported", "not a policy type", "use Pods or Percent")
        if (integer(policy, "value") or 0) <= 0:
            yield rejected(f"{at}.value", "Invalid", "must be greater than zero", "use a positive number")
        if not 0 < (integer(policy, "periodSeconds") or 0) <= _MAX_PERIOD_S:
            yield rejected(
                f"{at}.periodSeconds",
                "Invalid",
                f"must be greater than zero and at most {_MAX_PERIOD_S}",
                f"use a value from 1 to {_MAX_PERIOD_S}",
            )
