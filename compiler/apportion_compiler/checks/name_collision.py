"""AP105: two different names are emitted as the same object name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.named_objects import NamedObject
from apportion_compiler.kubernetes_names import object_name

NAME_COLLISION = Rule(
    "AP105",
    "name-collision",
    Severity.ERROR,
    "two objects of the same kind would be emitted with the same name",
    required=True,
)


def name_collision(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Compare the names of emitted objects, if at least one of them differs from its identity."""
    objects = [(named, object_name(named.name)) for named in declarations.named]
    mangled = {(named.kind, named.home, emitted) for named, emitted in objects if emitted != named.name}
    if not mangled:
        return
    groups: dict[tuple[str, str, str], dict[str, NamedObject]] = {}
    for named, emitted in objects:
        key = (named.kind, named.home, emitted)
        if key in mangled:
            groups.setdefault(key, {}).setdefault(named.name, named)
    for (kind, _, name), group in groups.items():
        if len(group) > 1:
            first, *others = group.values()
            yield Diagnostic(
                NAME_COLLISION,
                others[0].address,
                f"`{others[0].name}` and `{first.name}` would both be emitted as the {kind} `{name}`",
                others[0].at,
                tuple(Related(other.at, f"`{other.name}` is emitted as `{name}`") for other in (first, *others[1:])),
                f"give one of them a different {first.field} with at most 63 lowercase letters, digits and dashes",
            )
