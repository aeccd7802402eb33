"""Queue (scheduling.run.ai/v2) by itself: the nine numbers, the durations, the name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite

from apportion_api.kai.names import QUEUE_API
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, is_kind, unserved
from apportion_compiler.kubernetes_names import is_label_value
from apportion_compiler.plain_objects import mapping, name_of
from apportion_policy.resources import CPU, GPU, MEMORY

GROUP, _, VERSION = QUEUE_API.partition("/")
ACCOUNTED = (CPU, MEMORY, GPU)
UNITS = {CPU: "millicores", MEMORY: "megabytes", GPU: "GPUs"}
UNLIMITED = -1
_FIELDS = ("quota", "limit", "overQuotaWeight")
_SPEC = {
    "displayName": "string",
    "parentQueue": "string",
    "priority": "integer",
    "preemptMinRuntime": "string",
    "reclaimMinRuntime": "string",
    "resources": "object",
}


def is_queue(manifest: Manifest) -> bool:
    """Tell whether a manifest is a Queue of KAI's."""
    return is_kind(manifest, GROUP, "Queue")


def queue_verdicts(index: int, manifest: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a queue's own fields."""
    if not is_queue(manifest):
        return
    about = FieldVerdicts(index)
    yield from unserved(about, manifest, GROUP, VERSION)
    yield from about.mistyped(manifest.get("spec"), "spec", "object")
    spec = mapping(manifest, "spec")
    for field, wanted in _SPEC.items():
        yield from about.mistyped(spec.get(field), f"spec.{field}", wanted)
    for field in ("preemptMinRuntime", "reclaimMinRuntime"):
        yield from about.bad_duration(spec.get(field), f"spec.{field}")
    if not is_label_value(name_of(manifest)):
        yield about.pending(
            "metadata.name", "TooLong", f"`{name_of(manifest)}` is not a valid label value, so no workload can select "
            "the queue",
            "use at most 63 letters, digits, dashes and dots",
        )  # fmt: skip
    if spec.get("resources") is None:
        yield about.rejected(
            "spec.resources", "Required", "resources must be specified",
            "set quota, limit and overQuotaWeight for cpu, memory and gpu",
        )  # fmt: skip
    elif isinstance(spec["resources"], Mapping):
        for resource in ACCOUNTED:
            yield from _numbers(about, resource, spec["resources"].get(resource))


def _numbers(about: FieldVerdicts, resource: str, numbers: object) -> Iterator[Verdict]:
    path = f"spec.resources.{resource}"
    yield from about.mistyped(numbers, path, "object")
    held = mapping(numbers)
    for field in _FIELDS:
        yield from about.mistyped(held.get(field), f"{path}.{field}", "number")
    quota, limit, weight = (number(held.get(field)) for field in _FIELDS)
    if held.get("limit") is None:
        yield about.pending(
            f"{path}.limit", "Required", "limit is missing, which KAI reads as 0: no workload that requests "
            f"{resource} starts",
            f"set limit: {UNLIMITED} for unlimited",
        )  # fmt: skip
    elif limit is not None and limit < 0 and limit != UNLIMITED:
        yield _negative(about, path, "limit", limit, resource)
    elif quota is not None and limit is not None and limit != UNLIMITED and (quota > limit or quota == UNLIMITED):
        promised = "everything" if quota == UNLIMITED else f"{number_text(quota)} {UNITS[resource]}"
        yield about.ignored(
            f"{path}.quota", "Invalid",
            f"quota guarantees {promised}, but limit allows {number_text(limit)} {UNITS[resource]}",
            f"raise limit to {number_text(quota)}, or lower quota to {number_text(limit)}",
        )  # fmt: skip
    if quota is not None and quota < 0 and quota != UNLIMITED:
        yield _negative(about, path, "quota", quota, resource)
    if weight is not None and weight < 0:
        yield about.ignored(
            f"{path}.overQuotaWeight",
            "Invalid",
            f"overQuotaWeight {number_text(weight)} is negative",
            "use 0 or more",
        )
    if held.get("overQuotaWeight") is None and limit is not None and (limit == UNLIMITED or limit > (quota or 0)):
        yield about.ignored(
            f"{path}.overQuotaWeight", "Required",
            f"overQuotaWeight is missing, which KAI reads as 0: the queue gets no share of surplus {resource}",
            "set overQuotaWeight: 1",
        )  # fmt: skip


def _negative(about: FieldVerdicts, path: str, field: str, value: float, resource: str) -> Verdict:
    if resource == MEMORY:
        return about.ignored(
            f"{path}.{field}", "Invalid", f"{field} {number_text(value)}: KAI treats every negative amount of memory "
            "as unlimited",
            f"use {UNLIMITED} for unlimited",
        )  # fmt: skip
    if field == "limit":
        return about.pending(
            f"{path}.{field}", "Invalid", f"limit {number_text(value)} is negative: no workload that requests "
            f"{resource} starts",
            f"use {UNLIMITED} for unlimited",
        )  # fmt: skip
    return about.ignored(
        f"{path}.{field}",
        "Invalid",
        f"quota {number_text(value)} is negative",
        f"use 0, or {UNLIMITED} for unlimited",
    )


def number(value: object) -> float | None:
    """Return a JSON number; 0 for what is missing, as KAI reads it, and None for what is none."""
    if value is None:
        return 0
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return value
    return None


def number_text(value: float) -> str:
    """Return a JSON number as it is written."""
    return str(int(value)) if value == int(value) else repr(value)
