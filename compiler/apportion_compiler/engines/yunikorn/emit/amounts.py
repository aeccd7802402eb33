"""YuniKorn's numbers: an integer with a suffix, as text (pkg/common/resources/quantity.go).

| resource | key | unit |
|---|---|---|
| cpu | `vcore` | cores, or thousandths with `m` |
| memory | `memory` | bytes |
| gpu | `nvidia.com/gpu` | whole devices |
| others | their own name | whole devices |

There is no value for unlimited: a maximum is omitted, and a guarantee is the largest number, which usage never reaches.
A maximum of zero for every resource is treated as unset (pkg/scheduler/objects/queue.go, setResources), so it gets one
unit of a resource that pods cannot request.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.yunikorn.names import MEMORY_RESOURCE, VCORE
from apportion_compiler.backends.metadata import GROUP
from apportion_policy.quantity import Amount, Unlimited, cpu_text, memory_text
from apportion_policy.resources import CPU, GPU, MEMORY

UNBOUNDED = 2**63 - 1
"""Substitute for an UNLIMITED guarantee; YuniKorn's sums saturate at this number."""

NOTHING_ELSE = f"{GROUP}/nothing-else"
"""A resource that no node has, so that a limit of zero contains an amount above zero."""

WHOLE_GPU = 1000
_KEYS: Mapping[str, str] = {CPU: VCORE, MEMORY: MEMORY_RESOURCE, GPU: GPU_RESOURCE}

_ASKED_BY_ALL = (CPU, MEMORY)

Numbers = Mapping[str, int]
"""Amounts in the IR's base units, with GPUs rounded down to whole devices."""


def is_counted(resource: str) -> bool:
    """Return whether YuniKorn can count a resource: it counts GPUs regardless of their model."""
    return not resource.startswith(f"{GPU}/")


def number(resource: str, amount: Amount) -> int:
    """Return an amount, capped at YuniKorn's maximum. `refusals.py` refuses larger amounts."""
    if isinstance(amount, Unlimited):
        return UNBOUNDED
    whole = amount - amount % WHOLE_GPU if resource == GPU else amount
    return min(whole, UNBOUNDED)


def bounded(amounts: Mapping[str, Amount]) -> dict[str, int]:
    """Return the amounts that are limits, by resource; the largest number means unlimited."""
    numbers = {r: number(r, a) for r, a in amounts.items() if is_counted(r)}
    return {r: n for r, n in numbers.items() if n < UNBOUNDED}


def guarantee_texts(numbers: Numbers) -> dict[str, str]:
    """Return `resources.guaranteed`, empty without a guarantee.

    A missing resource is ignored; with a guarantee of zero, any usage exceeds the guarantee. A queue can reclaim while
    it is within its guarantee of every resource that its pods request, and every pod requests cpu and memory: zero is
    omitted for these. Borrowed resources of a queue are visible only if it has a guarantee for them: zero is written
    for GPUs, and for other devices unless pods request them together with GPUs (pkg/scheduler/objects/preemption.go,
    isAskQueueUnderGuaranteed and GetRemainingGuaranteedResource).
    """
    if not any(numbers.values()):
        return {}
    written = [r for r in _ordered(numbers) if numbers[r] or r == GPU or not (r in _ASKED_BY_ALL or numbers.get(GPU))]
    return {_key(r): _text(r, numbers[r]) for r in written}


def bound_texts(numbers: Numbers) -> dict[str, str]:
    """Return `resources.max`, or `maxresources` of a limit; empty if unlimited."""
    texts = {_key(r): _text(r, numbers[r]) for r in _ordered(numbers)}
    return {**texts, NOTHING_ELSE: "1"} if numbers and not any(numbers.values()) else texts


def _ordered(numbers: Numbers) -> list[str]:
    first = [resource for resource in _KEYS if resource in numbers]
    return [*first, *sorted(numbers.keys() - _KEYS.keys())]


def _key(resource: str) -> str:
    return _KEYS.get(resource, resource)


def _text(resource: str, amount: int) -> str:
    if amount == UNBOUNDED and resource != CPU:
        return str(amount)
    if resource == GPU:
        return str(amount // WHOLE_GPU)
    return {CPU: cpu_text, MEMORY: memory_text}.get(resource, str)(amount)
