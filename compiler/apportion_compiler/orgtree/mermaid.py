"""The tree as a Mermaid flowchart, for Markdown pages and pull requests."""

from __future__ import annotations

from apportion_compiler.orgtree.report import TreeReport, TreeRow
from apportion_policy.quantity import Unlimited


def mermaid_tree(report: TreeReport) -> str:
    """Return a `flowchart LR` block: a node for each queue with its guarantee and limit."""
    numbers = {row.id: index for index, row in enumerate(report.rows)}
    lines = ["flowchart LR"]
    for row in report.rows:
        lines.append(f'  q{numbers[row.id]}["{_label(report, row)}"]')
        if row.parent in numbers:
            lines.append(f"  q{numbers[row.parent]} --> q{numbers[row.id]}")
    return "\n".join(lines) + "\n"


def _label(report: TreeReport, row: TreeRow) -> str:
    limit = "" if isinstance(row.limit, Unlimited) else f", limit {report.text(row.limit)}"
    # Mermaid supports entities in labels: `#quot;` is a quotation mark.
    name = row.id.replace("#", "#35;").replace('"', "#quot;")
    return f"{name}<br/>{report.text(row.guaranteed)} {report.unit}{limit}"
