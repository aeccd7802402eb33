"""The use of each queue: a table with bars, 80 columns wide, and a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_runtime.core.explain.amounts import GIGABYTE
from apportion_runtime.core.queue_share import QueueShare
from apportion_runtime.core.resources import CPU, GPU, MEMORY, UNLIMITED
from apportion_runtime.core.session import Session

_UNITS = {"cpu": (CPU, 1000, "cores"), "memory": (MEMORY, GIGABYTE, "GB"), "gpu": (GPU, 1, "GPUs")}
"""The index of each resource in the core's amounts, its unit in these, and the unit's name."""
_NAME, _BAR = 22, 20
_COLUMNS = {"USED": 7, "GUARANTEED": 10, "BORROWED": 8, "LIMIT": 7}
"""The width of each column of amounts."""
_LEGEND = "=  used within the guarantee   +  borrowed   .  guaranteed and free   |  limit"


@dataclass(frozen=True, slots=True)
class QueueUse:
    """A queue's amounts of a resource, in its unit; None is unlimited."""

    name: str
    depth: int
    used: float
    requested: float
    fair_share: float
    guaranteed: float | None
    limit: float | None

    @property
    def borrowed(self) -> float:
        """What it uses above its guarantee."""
        return 0.0 if self.guaranteed is None else max(0.0, self.used - self.guaranteed)


def queue_uses(session: Session, resource: str) -> list[QueueUse]:
    """Return the use of all queues, each parent before its children."""
    at, unit, _ = _UNITS[resource]
    shares = session.shares

    def below(parent: QueueShare | None, depth: int) -> Iterator[QueueUse]:
        for queue in sorted(shares.children_of(parent), key=lambda each: each.name):
            yield QueueUse(
                queue.name,
                depth,
                queue.allocated[at] / unit,
                queue.request[at] / unit,
                queue.fair[at] / unit,
                None if queue.deserved[at] == UNLIMITED else queue.deserved[at] / unit,
                None if queue.limit[at] == UNLIMITED else queue.limit[at] / unit,
            )
            yield from below(queue, depth + 1)

    return list(below(None, 0))


def capacity(session: Session, resource: str) -> float:
    """Return how much of a resource the nodes have."""
    at, unit, _ = _UNITS[resource]
    return float(session.shares.total[at]) / unit


def bars(uses: Sequence[QueueUse], resource: str, total: float) -> str:
    """Return the table."""
    scale = f"0{_amount(total):>{_BAR - 1}}"
    lines = [
        f"{_amount(total)} {_UNITS[resource][2]} in the cluster",
        "",
        f"{'QUEUE':<{_NAME}}" + "".join(f" {column:>{width}}" for column, width in _COLUMNS.items()) + f" {scale}",
    ]
    for use in uses:
        numbers = (use.used, use.guaranteed, use.borrowed, use.limit)
        lines.append(
            f"{_fitted('  ' * use.depth + use.name)}"
            + "".join(f" {_amount(number):>{width}}" for number, width in zip(numbers, _COLUMNS.values(), strict=True))
            + f" {_bar(use, total)}"
        )
    return "\n".join((*(line.rstrip() for line in lines), "", _LEGEND)) + "\n"


def document(uses: Sequence[QueueUse], resource: str, total: float) -> dict[str, Any]:
    """Return the same as plain data."""
    return {
        "apiVersion": "apportion.dev/v1",
        "kind": "QueueUse",
        "resource": resource,
        "unit": _UNITS[resource][2],
        "capacity": total,
        "queues": [
            {
                "queue": use.name,
                "depth": use.depth,
                "used": use.used,
                "requested": use.requested,
                "fairShare": use.fair_share,
                "guaranteed": use.guaranteed,
                "borrowed": use.borrowed,
                "limit": use.limit,
            }
            for use in uses
        ],
    }


def _bar(use: QueueUse, total: float) -> str:
    if total <= 0:
        return ""

    def cells(amount: float | None) -> int:
        # Rounded last: an amount may be as large as a float.
        return _BAR if amount is None else round(max(0.0, min(1.0, amount / total)) * _BAR)

    used, guaranteed = cells(use.used), cells(use.guaranteed)
    if use.used > 0:
        # Any use is visible.
        used = max(1, used)
    # Where the guarantee is unlimited, nothing of it is marked as free.
    free = 0 if use.guaranteed is None else max(0, guaranteed - used)
    bar = "=" * min(used, guaranteed) + "+" * max(0, used - guaranteed) + "." * free
    limit = None if use.limit is None else cells(use.limit)
    if limit is None or limit >= _BAR or limit < used:
        return bar
    return f"{bar:<{_BAR}}"[:limit] + "|" + f"{bar:<{_BAR}}"[limit + 1 :]


def _amount(number: float | None) -> str:
    if number is None:
        return "-"
    text = f"{number:.0f}" if abs(number) >= 1000 else f"{number:.2f}".rstrip("0").rstrip(".")
    return text if len(text) <= min(_COLUMNS.values()) else f"{number:.2g}"


def _fitted(name: str) -> str:
    return f"{name:<{_NAME}}" if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
