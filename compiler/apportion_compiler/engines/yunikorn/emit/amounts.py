"""YuniKorn's numbers: text of a whole number with a suffix, and nothing finer (pkg/common/resources/quantity.go).

| resource | key | unit |
|---|---|---|
| cpu | `vcore` | cores, or thousandths with `m` |
| memory | `memory` | bytes |
| gpu | `nvidia.com/gpu` | whole devices |
| others | their own name | whole devices |

There is no word for "without bound": a maximum is left out, and a promise is the largest number there is, which no
usage reaches. A maximum that is zero in every resource is taken for none (pkg/scheduler/objects/queue.go,
setResources), so it gets one unit of a resource that nobody can ask for.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.yunikorn.names import MEMORY_RESOURCE, VCORE
from apportion_compiler.backends.metadata import GROUP
from apportion_policy.quantity import Amount, Unlimited, cpu_text, memory_text
from apportion_policy.resources import CPU, GPU, MEMORY

UNBOUNDED = 2**63 - 1
"""Stands for a promise without bound; the sums that YuniKorn makes stop here."""

NOTHING_ELSE = f"{GROUP}/nothing-else"
"""A resource of no node, so that a bound of zero has one amount above zero."""

WHOLE_GPU = 1000
_KEYS: Mapping[str, str] = {CPU: VCORE, MEMORY: MEMORY_RESOURCE, GPU: GPU_RESOURCE}

_ASKED_BY_ALL = (CPU, MEMORY)

Numbers = Mapping[str, int]
"""Amounts in the IR's base units, GPUs rounded down to whole devices."""


def is_counted(resource: str) -> bool:
    """Tell whether YuniKorn can count a resource: it counts GPUs, and does not ask for their model."""
    return not resource.startswith(f"{GPU}/")


def number(resource: str, amount: Amount) -> int:
    """Return what YuniKorn can hold of an amount. What is beyond it, `refusals.py` refuses."""
    if isinstance(amount, Unlimited):
        return UNBOUNDED
    whole = amount - amount % WHOLE_GPU if resource == GPU else amount
    return min(whole, UNBOUNDED)


def bounded(amounts: Mapping[str, Amount]) -> dict[str, int]:
    """Return the amounts that bound something, by resource; the largest number stands for no bound."""
    numbers = {r: number(r, a) for r, a in amounts.items() if is_counted(r)}
    return {r: n for r, n in numbers.items() if n < UNBOUNDED}


def promise_texts(numbers: Numbers) -> dict[str, str]:
    """Return `resources.guaranteed`, empty where nothing is promised.

    A resource that is missing is not looked at, and one that is zero is used beyond what is guaranteed at once. A queue
    may have back what it lent while it is within its guarantee of every resource that its pods ask for, and every pod
    asks for cpu and memory: zero of those is left out. What others lent it of a resource is seen only where the queue
    says what it is guaranteed of it: zero GPUs are written, and zero of other devices, unless pods ask for them beside
    GPUs (pkg/scheduler/objects/preemption.go, isAskQueueUnderGuaranteed and GetRemainingGuaranteedResource).
    """
    if not any(numbers.values()):
        return {}
    told = [r for r in _ordered(numbers) if numbers[r] or r == GPU or not (r in _ASKED_BY_ALL or numbers.get(GPU))]
    return {_key(r): _text(r, numbers[r]) for r in told}


def bound_texts(numbers: Numbers) -> dict[str, str]:
    """Return `resources.max`, or `maxresources` of a limit; empty where there is no bound."""
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
