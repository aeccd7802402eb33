"""Python expressions formatted like `ruff format`: on one line if they fit, else one argument per line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WIDTH = 88
"""ruff's default line length: lines that fit it also fit a longer one."""
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Atom:
    """A literal or a name as text; `names` are its imports."""

    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Bracketed parts, each with its prefix, such as `gpu=` or `"h100": `.

    `always_comma` adds the comma of a tuple with one item.
    """

    opening: str
    parts: tuple[tuple[str, Expression], ...]
    closing: str
    names: tuple[str, ...] = ()
    always_comma: bool = False


Expression = Atom | Group


def call(name: str, arguments: Mapping[str, Expression]) -> Group:
    """Return a call of an imported name with keyword arguments."""
    return Group(f"{name}(", tuple((f"{key}=", value) for key, value in arguments.items()), ")", (name,))


def sequence(items: tuple[Expression, ...]) -> Group:
    """Return a tuple."""
    return Group("(", tuple(("", item) for item in items), ")", always_comma=len(items) == 1)


def mapping(items: Mapping[str, Expression]) -> Group:
    """Return a dictionary with string keys."""
    return Group("{", tuple((f"{text_literal(key)}: ", value) for key, value in items.items()), "}")


def text_literal(text: str) -> str:
    """Return a string literal in double quotes, unless single quotes need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    # repr escapes unprintable characters, so a literal cannot end early or hide its content.
    return quote + "".join(f"\\{c}" if c == quote else repr(c)[1:-1] for c in text) + quote


def imported(expression: Expression) -> frozenset[str]:
    """Return the names that an expression imports."""
    names = set(expression.names)
    if isinstance(expression, Group):
        for _, part in expression.parts:
            names |= imported(part)
    return frozenset(names)


def formatted(prefix: str, expression: Expression, indent: int = 0) -> str:
    """Return an expression after a prefix, such as `RESEARCH = `, on as many lines as it needs."""
    return "\n".join(_lines(_INDENT * indent + prefix, expression, "", indent))


def _lines(prefix: str, expression: Expression, suffix: str, indent: int) -> list[str]:
    line = prefix + _flat(expression) + suffix
    if len(line) <= WIDTH or isinstance(expression, Atom) or not expression.parts:
        return [line]
    lines = [prefix + expression.opening]
    for before, part in expression.parts:
        lines += _lines(_INDENT * (indent + 1) + before, part, ",", indent + 1)
    return [*lines, _INDENT * indent + expression.closing + suffix]


def _flat(expression: Expression) -> str:
    if isinstance(expression, Atom):
        return expression.text
    inner = ", ".join(before + _flat(part) for before, part in expression.parts)
    return expression.opening + inner + ("," if expression.always_comma else "") + expression.closing
