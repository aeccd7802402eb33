"""Fields of a quota that the webhook accepts and the scheduler ignores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.koordinator.names import (
    ALLOW_LENT_LABEL,
    FORCE_UPDATE_LABEL,
    IS_PARENT_LABEL,
    IS_ROOT_LABEL,
    NAMESPACES_ANNOTATION,
    ROOT_QUOTA,
    SHARED_WEIGHT_ANNOTATION,
)
from apportion_compiler.backends.quota_tree import MAX_NUMBER
from apportion_compiler.engine_rules.quota_amounts import NANO
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engines.koordinator.rules.quota import Quota
from apportion_compiler.engines.koordinator.rules.settings import Settings
from apportion_compiler.kubernetes_names import MAX_NAME
from apportion_policy.quantity import kubernetes_text

_FLAGS = (IS_PARENT_LABEL, ALLOW_LENT_LABEL, FORCE_UPDATE_LABEL, IS_ROOT_LABEL)
_PARTS = {"cpu": 1000}
"""Koordinator's count for one unit of a resource; 1 by default."""


def ignored_verdicts(given: Sequence[Quota], quotas: Sequence[Quota], settings: Settings) -> Iterator[Verdict]:
    """Yield verdicts on fields of the quotas that are accepted but ignored."""
    by_name = {quota.name: quota for quota in quotas}
    for quota in given:
        yield from _marks(quota)
        yield from _amounts(quota)
        yield from _weights(quota)
        parent = by_name.get(quota.parent)
        if parent is not None and quota.parent != ROOT_QUOTA and not settings.checks_parents:
            yield from _above(quota, parent)


def _marks(quota: Quota) -> Iterator[Verdict]:
    for key in _FLAGS:
        value = quota.labels.get(key)
        if value not in (None, "true", "false"):
            field = f"metadata.labels[{key}]"
            yield quota.ignored(field, "Invalid", f'"{value}" is neither "true" nor "false"', 'use "true" or "false"')
    if quota.has_malformed_namespaces:
        field = f"metadata.annotations[{NAMESPACES_ANNOTATION}]"
        yield quota.ignored(
            field,
            "Invalid",
            "the value is not a JSON array of names, so no namespace is bound",
            'use a JSON list such as ["team-a"]',
        )
    if len(quota.name) > MAX_NAME:
        message = (
            f"the name has {len(quota.name)} characters, but labels on pods and child quotas allow only {MAX_NAME}"
        )
        yield quota.ignored("metadata.name", "TooLong", message, f"use at most {MAX_NAME} characters")
    for field in quota.unknown:
        yield quota.ignored(f"spec.{field}", "Unknown", f"ElasticQuota has no field {field}", f"remove {field}")


def _amounts(quota: Quota) -> Iterator[Verdict]:
    if quota.limits is None:
        yield quota.ignored("spec.max", "Required", "without max, the quota is unlimited", "set max")
    for part, amounts, written in (("min", quota.least, quota.minimum), ("max", quota.most, quota.maximum)):
        for key, amount in amounts.values.items():
            if amount * _PARTS.get(key, 1) > MAX_NUMBER * NANO:
                message = f"{kubernetes_text(written[key])} overflows when Koordinator adds up quotas"
                cure = "use less than 2^63 / 5 millicores, bytes or devices"
                yield quota.ignored(f"spec.{part}.{key}", "Invalid", message, cure)


def _weights(quota: Quota) -> Iterator[Verdict]:
    field = f"metadata.annotations[{SHARED_WEIGHT_ANNOTATION}]"
    listed = quota.listed_weights
    if listed is None:
        return
    if listed and quota.has_zero_weights:
        message = "all weights are 0: Koordinator treats them as unset, and uses max as the weights"
        yield quota.ignored(field, "Invalid", message, "to prevent borrowing, lower max to min")
    if missing := sorted(quota.max_keys - listed.keys()):
        message = f"there is no weight for {', '.join(missing)}, so max is used as the weight"
        yield quota.ignored(field, "Required", message, "set a weight for each resource in max")
    if unknown := sorted(listed.keys() - quota.max_keys):
        message = f"max does not set {', '.join(unknown)}, so Koordinator ignores the weight"
        yield quota.ignored(field, "Invalid", message, f"remove the weight, or set {', '.join(unknown)} in max")


def _above(quota: Quota, parent: Quota) -> Iterator[Verdict]:
    for key, amount in quota.most.values.items():
        held = parent.most.values.get(key)
        if held is not None and amount > held:
            message = (
                f"max {kubernetes_text(quota.maximum[key])} exceeds the parent's max, "
                f"{kubernetes_text(parent.maximum[key])}, which is enforced for children only with "
                "enableCheckParentQuota (off by default)"
            )
            cure = "lower max to the parent's max, or set enableCheckParentQuota in the ElasticQuota arguments"
            yield quota.ignored(f"spec.max.{key}", "Invalid", message, cure)
