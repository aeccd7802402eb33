"""Merging of an override's amounts: resource by resource, and GPUs model by model.

Amounts that an override does not set are unchanged. It replaces a whole field only with `replace`. Amounts that are
counted differently, in total and by model, or in machines and in resources, cannot be merged; AP122 reports them, and
here the override's are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_policy.cluster import QueueOverride
from apportion_policy.quantity import QuantityInput, Unlimited, parse_gpu
from apportion_policy.queue import Override
from apportion_policy.resources import Resources, Weight

AMOUNT_FIELDS = ("guaranteed", "limit", "lending_limit")


def overridden(base: Resources | None, override: Override | QueueOverride, field: str) -> Resources | None:
    """Return the amounts of a field under an override.

    Conservation: every resource, GPU model and pool of `base` that the override does not set keeps its amount, unless
    the override replaces the field.
    """
    changed: Resources | None = getattr(override, field)
    if changed is None:
        return base
    if base is None or field in override.replace or not _count_alike(base, changed):
        return changed
    return _merged(base, changed)


def overridden_weight(
    base: QuantityInput | Weight | None, changed: QuantityInput | Weight | None
) -> QuantityInput | Weight | None:
    """Return the weight under an override: for a `Weight`, only the fields that it sets."""
    if not isinstance(changed, Weight):
        return base if changed is None else changed
    weights: dict[str, Any] = {}
    if isinstance(base, Weight):
        weights = _set_fields(base)
    elif base is not None:
        weights = dict.fromkeys(Weight.model_fields, base)
    return Weight.model_construct(**weights | _set_fields(changed))


def is_combinable(base: Resources, changed: Resources) -> bool:
    """Return whether both count in the same way.

    A total of 0 or unlimited applies to every model, and can be merged.
    """
    if not _count_alike(base, changed):
        return False
    if base.gpu is None or changed.gpu is None or isinstance(base.gpu, Mapping) == isinstance(changed.gpu, Mapping):
        return True
    if isinstance(changed.gpu, Mapping):
        return False
    total = parse_gpu(changed.gpu)
    return total == 0 or isinstance(total, Unlimited)


def _count_alike(base: Resources, changed: Resources) -> bool:
    return not (
        (base.machines is not None and _counts_resources(changed))
        or (changed.machines is not None and _counts_resources(base))
    )


def _counts_resources(resources: Resources) -> bool:
    return resources.cpu is not None or resources.memory is not None or resources.gpu is not None


def _merged(base: Resources, changed: Resources) -> Resources:
    # Both were validated on declaration.
    held, new = _set_fields(base), _set_fields(changed)
    for name, amounts in new.items():
        before = held.get(name)
        held[name] = {**before, **amounts} if isinstance(before, Mapping) and isinstance(amounts, Mapping) else amounts
    return Resources.model_construct(**held)


def _set_fields(declaration: Resources | Weight) -> dict[str, Any]:
    return {name: value for name, value in declaration if value is not None}
