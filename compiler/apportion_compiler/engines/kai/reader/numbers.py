"""Conversion of KAI's numbers to exact amounts: millicores, megabytes of 10^6 bytes and devices, all JSON numbers.

Source: pkg/apis/scheduling/v2/resources.go, pkg/scheduler/plugins/proportion/proportion.go at d5bc503a.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from apportion_api.kai.objects import Queue
from apportion_compiler.engines.kai.emit.numbers import UNLIMITED_NUMBER
from apportion_policy.quantity import MAX_AMOUNT, UNLIMITED, Amount
from apportion_policy.resources import CPU, GPU, MEMORY

ACCOUNTED = (CPU, MEMORY, GPU)
_UNITS = {CPU: 1, MEMORY: 1_000_000, GPU: 1000}
_SCALE = 1000

Field = Literal["quota", "limit", "overQuotaWeight"]


@dataclass(frozen=True, slots=True)
class Number:
    """The meaning of one of the nine fields: an amount in base units, and a note."""

    amount: Amount
    note: str | None = None


def amount_of(queue: Queue, resource: str, field: Field) -> Number:
    """Return the amount of `quota` or `limit`; KAI treats a missing value as 0."""
    path = f"spec.resources.{resource}.{field}"
    number, fault = _number(queue, resource, field, path)
    if fault is not None or number == 0:
        return Number(0, fault)
    if number == UNLIMITED_NUMBER or (resource == MEMORY and number < 0):
        # createQueueResourceAttrs treats any negative amount of memory as unlimited.
        return Number(
            UNLIMITED, None if number == UNLIMITED_NUMBER else f"{path} is {number}: KAI treats it as unlimited"
        )
    if number < 0:
        return Number(0, f"{path} is {number}, which is negative: imported as 0")
    scaled = number * _UNITS[resource]
    amount = int(scaled) if field == "quota" or scaled == int(scaled) else int(scaled) + 1
    if amount > MAX_AMOUNT:
        return Number(UNLIMITED, f"{path} is {number}, which exceeds the supported maximum: imported as unlimited")
    return Number(
        amount,
        None
        if amount == scaled
        else f"{path} is {number}, which exceeds the supported precision: imported as {amount}",
    )


def weight_of(queue: Queue, resource: str) -> Number:
    """Return a weight in thousandths; KAI treats a missing value as 0."""
    path = f"spec.resources.{resource}.overQuotaWeight"
    number, fault = _number(queue, resource, "overQuotaWeight", path)
    if fault is not None:
        return Number(0, fault)
    if number < 0:
        return Number(0, f"{path} is {number}, which is negative: imported as 0")
    scaled = number * _SCALE
    if scaled != int(scaled):
        return Number(max(1, round(scaled)), f"{path} is {number}, which has more than three decimal places: rounded")
    return Number(min(int(scaled), MAX_AMOUNT))


def is_unlimited(queue: Queue, resource: str) -> bool:
    """Return whether a resource has neither a quota nor a limit."""
    return (
        amount_of(queue, resource, "quota").amount is UNLIMITED
        and amount_of(queue, resource, "limit").amount is UNLIMITED
    )


def _number(queue: Queue, resource: str, field: Field, path: str) -> tuple[Decimal, str | None]:
    value = queue.counted(resource, field)
    if value is None:
        return Decimal(0), f"{path} is not a number: imported as 0"
    if field == "limit" and queue.resource(resource).limit is None:
        return Decimal(0), f"{path} is missing, which KAI reads as 0"
    # repr restores the text from which the float was parsed.
    return Decimal(repr(value)), None
