"""The tree for a terminal: branches, a bar for each queue, and its amounts."""

from __future__ import annotations

from apportion_compiler.orgtree.report import TreeReport, TreeRow
from apportion_policy.quantity import Unlimited

_BAR = 20


def draw_tree(report: TreeReport, *, width: int = 80, ascii_only: bool = False) -> str:
    """Return the tree as lines of at most `width` columns, unless names are too long.

    `▓` is guaranteed, `░` may be borrowed, `│` is the limit; `#`, `-` and `|` in ASCII.
    """
    marks = ("#", "-", "|", "|- ", "`- ", "|  ") if ascii_only else ("▓", "░", "│", "├─ ", "└─ ", "│  ")
    rows = _branches(report, marks)
    stem = min(max((len(branch) for branch, _ in rows), default=0), max(width - _BAR - 24, 16))
    lines = [_title(report)]
    for branch, row in rows:
        name = branch if len(branch) <= stem else branch[: stem - 1] + ("~" if ascii_only else "…")
        bar = _bar(report, row, marks)
        lines.append(f"{name:<{stem}} {bar} {_numbers(report, row)}".rstrip())
    return "\n".join(lines) + "\n"


def _title(report: TreeReport) -> str:
    if report.capacity is None:
        return f"{report.scope}: {report.unit} (a full bar is {report.text(report.scale)})"
    return f"{report.scope}: {report.text(report.capacity)} {report.unit} in node pools"


def _branches(report: TreeReport, marks: tuple[str, ...]) -> list[tuple[str, TreeRow]]:
    fork, last, through = marks[3:6]
    open_levels: list[bool] = []
    branches: list[tuple[str, TreeRow]] = []
    for row in report.rows:
        del open_levels[row.depth - 1 :]
        lead = "".join(through if is_open else "   " for is_open in open_levels[1:])
        stem = "" if row.depth == 1 else lead + (last if row.is_last else fork)
        open_levels.append(not row.is_last)
        branches.append((stem + row.id, row))
    return branches


def _bar(report: TreeReport, row: TreeRow, marks: tuple[str, ...]) -> str:
    filled, lendable, edge = marks[:3]
    guaranteed = _cells(report, row.guaranteed)
    limit = _cells(report, row.limit)
    body = filled * guaranteed + lendable * max(limit - guaranteed, 0)
    closed = "" if isinstance(row.limit, Unlimited) else edge
    return f"{body + closed:<{_BAR + 1}}"


def _cells(report: TreeReport, amount: object) -> int:
    if isinstance(amount, Unlimited):
        return _BAR
    assert isinstance(amount, int)
    if report.scale == 0 or amount == 0:
        return 0
    # A non-zero guarantee is always visible.
    return max(1, min(_BAR, amount * _BAR // report.scale))


def _numbers(report: TreeReport, row: TreeRow) -> str:
    limit = "" if isinstance(row.limit, Unlimited) else f", limit {report.text(row.limit)}"
    return f"{report.text(row.guaranteed)} guaranteed{limit}"
