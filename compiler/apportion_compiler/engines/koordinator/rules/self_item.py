"""The webhook's rules on a single quota, in its order and words (quota_topology_check.go, validateQuotaSelfItem)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.embedded_json import json_value
from apportion_api.koordinator.names import ROOT_QUOTA, SHARED_WEIGHT_ANNOTATION, STRICT_KEYS_ANNOTATION, SYSTEM_QUOTA
from apportion_compiler.engine_rules.quota_amounts import read_amounts
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engines.koordinator.rules.quota import Quota
from apportion_policy.quantity import kubernetes_text

_MAX, _MIN = "spec.max", "spec.min"


def self_verdicts(quota: Quota) -> Iterator[Verdict]:
    """Yield the verdicts on a single quota, independent of other quotas."""
    if quota.name in (ROOT_QUOTA, SYSTEM_QUOTA):
        message = f"invalid quota {quota.name}"
        yield quota.rejected("metadata.name", "Forbidden", message, "remove this quota: Koordinator creates it")
        return
    yield from (*quota.most.verdicts, *quota.least.verdicts)
    for part, amounts, field in (("Max", quota.most, _MAX), ("Min", quota.least, _MIN)):
        if negative := _negative(amounts.values):
            message = f"{quota.name} quota.Spec.{part}'s value < 0, in dimensions :[{negative}]"
            yield quota.rejected(field, "Invalid", message, "use a value of 0 or more")
    yield from _shared_weight(quota)
    yield from _minimum(quota)
    yield from _strict(quota)


def _shared_weight(quota: Quota) -> Iterator[Verdict]:
    written = quota.annotations.get(SHARED_WEIGHT_ANNOTATION)
    if not written:
        return
    field = f"metadata.annotations[{SHARED_WEIGHT_ANNOTATION}]"
    try:
        listed = json_value(written)
    except ValueError as fault:
        yield quota.rejected(
            field, "Invalid", f"the value is not JSON: {fault}", 'use a JSON object such as {"cpu":"1"}'
        )
        return
    if not isinstance(listed, dict):
        yield quota.rejected(
            field,
            "Invalid",
            "the value is not a JSON object that maps resource names to quantities",
            'use a JSON object such as {"cpu":"1"}',
        )
        return
    amounts = read_amounts(quota.index or 0, listed, field, signed=True)
    yield from amounts.verdicts
    if negative := _negative(amounts.values):
        message = f"{quota.name} quota.Annotation[{SHARED_WEIGHT_ANNOTATION}]'s value < 0, in dimension :[{negative}]"
        yield quota.rejected(field, "Invalid", message, "use a value of 0 or more")


def _minimum(quota: Quota) -> Iterator[Verdict]:
    for key, amount in quota.least.values.items():
        if key not in quota.max_keys:
            message = f"resourceKey {key} of quota {quota.name} is included in min, which is not included in max"
            yield quota.rejected(f"{_MIN}.{key}", "Required", message, f"add {key} to max")
        elif key in quota.most.values and amount > quota.most.values[key]:
            message = (
                f"resourceKey {key} of quota {quota.name} min {kubernetes_text(quota.minimum[key])} > max "
                f"{kubernetes_text(quota.maximum[key])}"
            )
            yield quota.rejected(f"{_MIN}.{key}", "Invalid", message, "lower min, or raise max")


def _strict(quota: Quota) -> Iterator[Verdict]:
    written = quota.annotations.get(STRICT_KEYS_ANNOTATION)
    if not written:
        return
    field = f"metadata.annotations[{STRICT_KEYS_ANNOTATION}]"
    try:
        keys = json_value(written)
    except ValueError as fault:
        keys = None
        reason = str(fault)
    else:
        reason = "not a list of resources"
    if not isinstance(keys, list):
        message = f"{quota.name} quota.Annotation[{STRICT_KEYS_ANNOTATION}]'s value is invalid: {reason}"
        yield quota.rejected(field, "Invalid", message, 'use a JSON list such as ["cpu"]')
        return
    used = read_amounts(quota.index or 0, quota.used, "status.used", signed=True).values
    for key in keys:
        if key not in used:
            continue
        if key not in quota.max_keys:
            message = (
                f"resourceKey {key} of quota {quota.name} is included in used, which is not included in max but should "
                "check max >= used"
            )
            yield quota.rejected(_MAX, "Required", message, f"add {key} to max")
        elif key in quota.most.values and quota.most.values[key] < used[key]:
            message = (
                f"resourceKey {key} of quota {quota.name} max {kubernetes_text(quota.maximum[key])} < used "
                f"{kubernetes_text(quota.used[key])}"
            )
            yield quota.rejected(f"{_MAX}.{key}", "Invalid", message, "raise max, or stop workloads first")


def _negative(amounts: Mapping[str, int]) -> str:
    return " ".join(key for key, amount in amounts.items() if amount < 0)
