"""Selectors of devices: expressions of CEL, with the functions that Kubernetes adds for amounts and versions.

A library evaluates CEL itself. Of Kubernetes' extensions, `cel.bind`, optional fields (`.?`), comprehensions with two
variables, `find`, `format` and addresses are not supported: an expression that uses them raises `UnknownSelector`.

Source: k8s.io/dynamic-resource-allocation/cel, k8s.io/apiserver/pkg/cel/library; the language definition of CEL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from apportion_runtime.snapshots.quantities import NANO, parse_quantity

if TYPE_CHECKING:
    # With its command line, which it imports, this takes longer than most snapshots; few have a selector.
    from cel import Context, Program

Value = Any
"""Values of CEL: text, numbers, Booleans, lists and maps. Amounts and versions are represented as maps."""

_MOST_LENGTH = 10 * 1024
_SEMVER = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
_LOOSE_SEMVER = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?((?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)", re.ASCII)
_LITERAL = re.compile(r"\"([^\"\\]*)\"|'([^'\\]*)'")
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*([A-Za-z_]\w*)\s*,")
_NATIVE = frozenset((
    "has", "all", "exists", "exists_one", "map", "filter", "int", "uint", "double", "string", "bytes", "timestamp",
    "duration", "size", "contains", "startsWith", "endsWith", "matches", "dyn", "type",
))  # fmt: skip
_NAMESPACES = frozenset(("math", "sets", "base64", "lists", "strings"))
_TYPES = frozenset(("int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"))


class UnknownSelector(Exception):
    """An expression is not valid CEL, or uses an unsupported feature."""


def quantity(text: str | float) -> dict[str, str]:
    """Return an amount, in billionths. Raises `ValueError`."""
    return {"quantity": str(parse_quantity(text))}


def version(text: str, normalize: bool = False) -> dict[str, Value]:  # noqa: FBT001, FBT002 - CEL has no keywords.
    """Return a semantic version: numbers, and the identifiers of a pre-release. Raises `ValueError`."""
    if normalize and (loose := _LOOSE_SEMVER.fullmatch(text)) is not None:
        text = ".".join(str(int(number or 0)) for number in loose.groups()[:3]) + loose[4]
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a version such as 1.2.3")
    return {
        "semver": [int(match[number]) for number in (1, 2, 3)],
        "prerelease": match[4].split(".") if match[4] else [],
    }


@dataclass(frozen=True, slots=True)
class _Selector:
    """An expression, and the text in it that may be a domain that a device lacks."""

    program: Program
    literals: frozenset[str]


@lru_cache(maxsize=1024)
def _selector(expression: str) -> _Selector:
    if len(expression) > _MOST_LENGTH:
        raise UnknownSelector(expression)
    import cel

    try:
        program = cel.compile(expression)
    except ValueError:
        raise UnknownSelector(expression) from None
    functions = {name for name in program.functions() if name.isidentifier()}
    variables = set(program.variables()) - set(_BOUND.findall(expression))
    if functions - _NATIVE - _known() or variables - _NAMESPACES - _TYPES - {"device"}:
        raise UnknownSelector(expression)
    return _Selector(program, frozenset(one or other for one, other in _LITERAL.findall(expression)))


def fulfilling(expression: str, devices: Sequence[Mapping[str, Value]]) -> list[bool]:
    """Return, for each device, whether it satisfies an expression; without a result, it does not.

    Args:
        expression: The selector.
        devices: `driver`, and by domain and name `attributes` and `capacity`.

    Raises:
        UnknownSelector: If the expression is not CEL, or uses an unsupported feature.
    """
    selector = _selector(expression)
    context = _context()
    return [_is_fulfilled(selector, context, device) for device in devices]


def _is_fulfilled(selector: _Selector, context: Context, device: Mapping[str, Value]) -> bool:
    # A domain that a device lacks is empty, which is not an error.
    silent: dict[str, Value] = {literal: {} for literal in selector.literals}
    device_values = {key: {**silent, **value} if isinstance(value, Mapping) else value for key, value in device.items()}
    context.add_variable("device", device_values)
    try:
        return selector.program.execute(context) is True
    except (KeyError, TypeError, ValueError, ArithmeticError, RuntimeError):
        return False


def _compare(left: Value, right: Value) -> int:
    if "quantity" in left and "quantity" in right:
        one, other = _nanos(left), _nanos(right)
        return (one > other) - (one < other)
    first, second = _order(left), _order(right)
    return (first > second) - (first < second)


def _order(version: Value) -> tuple[Value, ...]:
    api_names = [(not word.isdigit(), int(word) if word.isdigit() else 0, word) for word in version["prerelease"]]
    return version["semver"], not api_names, api_names


def _nanos(amount: Value) -> int:
    return int(amount["quantity"])


def _amount(nanos: int) -> dict[str, str]:
    return {"quantity": str(nanos)}


def _other(value: Value) -> int:
    return value * NANO if isinstance(value, int) else _nanos(value)


def _whole(amount: Value) -> int:
    whole, rest = divmod(_nanos(amount), NANO)
    if rest:
        raise ValueError("the amount is not an integer")
    return whole


def _reads(parse: Callable[[str], Value]) -> Callable[[str], bool]:
    def is_read(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return is_read


_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "quantity": quantity,
    "isQuantity": _reads(quantity),
    "semver": version,
    "isSemver": _reads(version),
    "compareTo": _compare,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
    "sign": lambda amount: (_nanos(amount) > 0) - (_nanos(amount) < 0),
    "isInteger": lambda amount: _nanos(amount) % NANO == 0,
    "asInteger": _whole,
    "asApproximateFloat": lambda amount: _nanos(amount) / NANO,
    "add": lambda amount, more: _amount(_nanos(amount) + _other(more)),
    "sub": lambda amount, less: _amount(_nanos(amount) - _other(less)),
    "major": lambda found: found["semver"][0],
    "minor": lambda found: found["semver"][1],
    "patch": lambda found: found["semver"][2],
}


def _context() -> Context:
    from cel import Context
    from cel.stdlib import add_stdlib_to_context

    context = Context()
    add_stdlib_to_context(context)
    for name, function in _FUNCTIONS.items():
        context.add_function(name, function)
    return context


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(name.rpartition(".")[2] for name in _context().functions)
