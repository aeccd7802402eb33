"""The tables of capabilities in Markdown: one per backend, and a comparison of all backends."""

from __future__ import annotations

from collections.abc import Collection

from apportion_compiler.backends.capability import Backend, Feature, Lowered, Native, Unsupported

_CAPABILITIES = "capabilities"


def capability_table(backend: Backend) -> str:
    """Return a Markdown table with one row for each feature."""
    rows = [f"| {feature.value} | {' | '.join(_cells(backend, feature))} |" for feature in Feature]
    return "\n".join(("| feature | verdict | mapping and limitations |", "|---|---|---|", *rows))


def fidelity_matrix(backends: Collection[Backend]) -> str:
    """Return a Markdown table with a row for each feature and a column for each backend."""
    head = ("feature", *(f"[{backend.name}](backends/{backend.name}.md)" for backend in backends))
    rows = ((feature.value, *(_verdict(backend, feature) for backend in backends)) for feature in Feature)
    return "\n".join((f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)))


def condition_table(backends: Collection[Backend]) -> str:
    """Return a Markdown table with a row for each file that configures an engine."""
    rows = (
        f"| {backend.name} | `{condition.file}` | {condition.applied} | {condition.why} | "
        f"{', '.join(feature.value for feature in condition.features)} |"
        for backend in backends
        for condition in backend.conditions
    )
    return "\n".join(("| target | file | | without it | features |", "|---|---|---|---|---|", *rows))


def table_markers(name: str = _CAPABILITIES) -> tuple[str, str]:
    """Return the comments between which a page has the generated table of this name."""
    return f"<!-- {name}: written by `make docs` -->", f"<!-- end of {name} -->"


def with_table(page: str, table: str, name: str = _CAPABILITIES) -> str:
    """Return a page with the table between its two markers regenerated.

    Raises:
        ValueError: If the page lacks a marker.
    """
    begin, end = table_markers(name)
    before, begun, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f"the page does not contain the markers {begin} and {end}")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def with_capability_table(page: str, backend: Backend) -> str:
    """Return a backend's page with its table regenerated. Raises `ValueError` if the page lacks a marker."""
    return with_table(page, capability_table(backend))


def _verdict(backend: Backend, feature: Feature) -> str:
    verdict, relying, _ = _cells(backend, feature)[0].partition(", provided")
    return f"{verdict} \\*" if relying else verdict


def _cells(backend: Backend, feature: Feature) -> tuple[str, str]:
    files = " and ".join(f"`{condition.file}`" for condition in backend.conditions_of(feature))
    relying = f", provided that {files} {'is' if files.count('`') == 2 else 'are'} applied" if files else ""
    match backend.capabilities[feature]:
        case Native(field):
            return f"exact{relying}", f"`{field}`"
        case Lowered(by, ""):
            return f"exact{relying}", by
        case Lowered(by, approximation):
            return f"approximated{relying}", f"{by}. Limitation: {approximation}."
        case Unsupported(code, reason, _):
            return f"refused, {code}", reason
