"""The tree as one self-contained SVG: without scripts or external resources, for light and dark themes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from apportion_compiler.orgtree.report import TreeReport, TreeRow
from apportion_policy.quantity import Unlimited

_ROW_HEIGHT = 28
_INDENT = 20
_TOP = 44
_BAR_WIDTH = 360


def svg_tree(report: TreeReport) -> str:
    """Return an SVG document, with sizes in pixels and one row for each queue."""
    names = max((len(row.id) * 8 + row.depth * _INDENT for row in report.rows), default=0)
    bar_x = 32 + names
    positions = {row.id: _TOP + index * _ROW_HEIGHT for index, row in enumerate(report.rows)}
    held = "" if report.capacity is None else f": {report.text(report.capacity)} {report.unit} in node pools"
    template = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True).from_string(
        files("apportion_compiler.emit").joinpath("templates/orgtree.svg.j2").read_text(encoding="utf-8")
    )
    return template.render(
        title=f"{report.scope}{held or f': {report.unit}'}",
        width=bar_x + _BAR_WIDTH + 260,
        height=_TOP + len(report.rows) * _ROW_HEIGHT + 12,
        bar_x=bar_x,
        bar_width=_BAR_WIDTH,
        rows=[_drawn(report, row, positions) for row in report.rows],
    )


def _drawn(report: TreeReport, row: TreeRow, positions: dict[str, int]) -> dict[str, Any]:
    limit = "" if isinstance(row.limit, Unlimited) else f", limit {report.text(row.limit)}"
    parent_y = positions.get(row.parent) if row.parent is not None else None
    x = 16 + (row.depth - 1) * _INDENT
    return {
        "name": row.id,
        "x": x,
        "y": positions[row.id],
        "branch": None if parent_y is None else {"x": x - _INDENT + 6, "y": parent_y + 18},
        "promised_width": _width(report, row.guaranteed),
        "limit_width": _width(report, row.limit),
        "edge": not isinstance(row.limit, Unlimited),
        "numbers": f"{report.text(row.guaranteed)} {report.unit} guaranteed{limit}",
    }


def _width(report: TreeReport, amount: object) -> int:
    if isinstance(amount, Unlimited):
        return _BAR_WIDTH
    assert isinstance(amount, int)
    return 0 if report.scale == 0 else min(_BAR_WIDTH, amount * _BAR_WIDTH // report.scale)
