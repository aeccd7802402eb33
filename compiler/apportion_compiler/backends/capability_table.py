"""A backend's table of capabilities as the Markdown of its documentation page."""

from __future__ import annotations

from apportion_compiler.backends.capability import Backend, Feature, Lowered, Native, Unsupported

BEGIN = "<!-- capabilities: written by `make docs` -->"
END = "<!-- end of capabilities -->"


def capability_table(backend: Backend) -> str:
    """Return a Markdown table with one row for each feature."""
    rows = [f"| {feature.value} | {' | '.join(_cells(backend, feature))} |" for feature in Feature]
    return "\n".join(("| feature | verdict | how, and what is lost |", "|---|---|---|", *rows))


def with_capability_table(page: str, backend: Backend) -> str:
    """Return a page with the table between its two markers written anew.

    Raises:
        ValueError: If the page lacks a marker.
    """
    before, begun, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"the page of {backend.name} lacks the markers {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{capability_table(backend)}\n\n{END}{after}"


def _cells(backend: Backend, feature: Feature) -> tuple[str, str]:
    match backend.capabilities[feature]:
        case Native(field):
            return "exact", f"`{field}`"
        case Lowered(by, ""):
            return "exact", by
        case Lowered(by, approximation):
            return "approximated", f"{by}. Lost: {approximation}."
        case Unsupported(code, reason, _):
            return f"refused, {code}", reason
