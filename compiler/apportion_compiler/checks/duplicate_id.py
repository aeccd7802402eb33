"""AP103: two objects of the same kind have the same name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.named_objects import NamedObject

DUPLICATE_ID = Rule(
    "AP103", "duplicate-id", Severity.ERROR, "two objects of the same kind have the same name", required=True
)


def duplicate_id(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Group objects by kind, scope and name."""
    groups: dict[tuple[str, str, str], list[NamedObject]] = {}
    for named in declarations.named:
        groups.setdefault((named.kind, named.home, named.name), []).append(named)
    for group in groups.values():
        if len(group) > 1:
            yield _finding(group)


def _finding(group: list[NamedObject]) -> Diagnostic:
    first, second, *more = group
    times = "twice" if not more else f"{len(group)} times"
    same_place = (first.at.file, first.at.line) == (second.at.file, second.at.line)
    return Diagnostic(
        DUPLICATE_ID,
        second.address,
        f"the {second.kind} {second.field} `{second.name}` is declared {times} in {second.home or 'the policy'}",
        second.at,
        tuple(Related(other.at, f"`{other.name}` is also declared here") for other in (first, *more)),
        f"list the {second.kind} `{second.name}` once, or give each its own {second.field}"
        if same_place
        else f"give one {second.kind} a different {second.field}, or remove it",
    )
