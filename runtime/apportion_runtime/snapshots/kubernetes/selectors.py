"""Selectors of devices: the forms of CEL that device classes and claims are written in.

What is read: comparisons, `in`, `&&`, `||`, `!`, parentheses, lists, text, numbers and truth values;
`device.driver`, `device.attributes["domain"].name`, `device.capacity["domain"].name`; `quantity("10Gi")` and
`semver("1.2.3")` with `compareTo`, `isGreaterThan`, `isLessThan`; `has(…)`, `startsWith`, `endsWith`, `contains`,
`lowerAscii`, and `matches` with a plain pattern. The engine reads all of CEL; anything else is `UnknownSelector` here.

Source: k8s.io/dynamic-resource-allocation/cel; the language definition of CEL.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from apportion_runtime.snapshots.quantities import parse_quantity

Value = Any
Evaluate = Callable[[Mapping[str, Value]], Value]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<mark>&&|\|\||==|!=|<=|>=|[<>!()\[\],.]))""",
    re.ASCII,
)
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_SEMVER = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
_QUANTIFIER = re.compile(r"(?<!\\)[*+{?]")
_QUANTIFIED_GROUP = re.compile(r"\)[*+{]")
_MOST_PATTERN, _MOST_QUANTIFIERS, _MOST_TEXT, _MOST_DEPTH = 200, 4, 64, 50


class UnknownSelector(Exception):
    """An expression is none of the forms that are read here."""


class NoSuchValue(Exception):
    """An expression asks for what a device does not say."""


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount in billionths."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A version: numbers, whether it is released, and the words of one that is not."""

    numbers: tuple[int, ...]
    is_released: bool
    words: tuple[tuple[bool, int, str], ...]


def quantity(text: str | float) -> Quantity:
    """Return an amount. Raises `ValueError`."""
    return Quantity(parse_quantity(text))


def version(text: str) -> Version:
    """Return a semantic version. Raises `ValueError`."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a version such as 1.2.3")
    words = match[4].split(".") if match[4] else []
    return Version(
        tuple(int(match[i]) for i in (1, 2, 3)),
        not words,
        tuple((not word.isdigit(), int(word) if word.isdigit() else 0, word) for word in words),
    )


@lru_cache(maxsize=1024)
def selector(expression: str) -> Evaluate:
    """Return what tells whether a device fulfils an expression. Raises `UnknownSelector`."""
    parser = _Parser(expression)
    try:
        made = parser.either()
    except RecursionError:
        raise UnknownSelector(expression) from None
    if parser.peek() != "":
        raise UnknownSelector(expression)
    return made


def fulfils(expression: str, device: Mapping[str, Value]) -> bool:
    """Tell whether a device fulfils an expression; one that asks for what the device does not say is not fulfilled.

    Raises:
        UnknownSelector: If the expression is none of the forms that are read.
    """
    try:
        return selector(expression)({"device": device}) is True
    except (NoSuchValue, TypeError, ValueError):
        return False


class _Parser:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._depth = 0
        at = 0
        text = expression.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise UnknownSelector(expression)
            self._tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()

    def peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str | None = None) -> tuple[str, str]:
        if self._at >= len(self._tokens) or (wanted is not None and self.peek() != wanted):
            raise UnknownSelector(self._expression)
        self._at += 1
        return self._tokens[self._at - 1]

    def either(self) -> Evaluate:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise UnknownSelector(self._expression)
        made = self._both()
        while self.peek() == "||":
            self._take()
            made = _decided(made, self._both(), by=True)
        self._depth -= 1
        return made

    def _both(self) -> Evaluate:
        made = self._relation()
        while self.peek() == "&&":
            self._take()
            made = _decided(made, self._relation(), by=False)
        return made

    def _relation(self) -> Evaluate:
        left = self._unary()
        sign = self.peek()
        if sign in _COMPARE:
            self._take()
            right, compare = self._unary(), _COMPARE[sign]
            return lambda scope: compare(*_comparable(left(scope), right(scope)))
        if sign == "in":
            self._take()
            of = self._unary()
            return lambda scope: left(scope) in of(scope)
        return left

    def _unary(self) -> Evaluate:
        if self.peek() == "!":
            self._take()
            of = self._unary()
            return lambda scope: not of(scope)
        return self._member(self._primary())

    def _primary(self) -> Evaluate:
        kind, text = self._take()
        if kind == "text":
            literal = re.sub(r"\\(.)", r"\1", text[1:-1])
            return lambda scope: literal
        if kind == "number":
            number = float(text) if "." in text else int(text)
            return lambda scope: number
        if text == "(":
            made = self.either()
            self._take(")")
            return made
        if text == "[":
            items = self._arguments("]")
            return lambda scope: [item(scope) for item in items]
        if kind != "name":
            raise UnknownSelector(self._expression)
        if text in ("true", "false"):
            return lambda scope: text == "true"
        if self.peek() == "(":
            self._take()
            return self._called(text, self._arguments(")"))
        if text != "device":
            raise UnknownSelector(self._expression)
        return lambda scope: scope["device"]

    def _called(self, name: str, arguments: list[Evaluate]) -> Evaluate:
        makers: Mapping[str, Callable[[Any], Any]] = {"quantity": quantity, "semver": version}
        if len(arguments) != 1 or name not in (*makers, "has"):
            raise UnknownSelector(self._expression)
        (only,) = arguments
        if name == "has":
            return lambda scope: _is_there(only, scope)
        make = makers[name]
        return lambda scope: make(only(scope))

    def _arguments(self, end: str) -> list[Evaluate]:
        made: list[Evaluate] = []
        while self.peek() != end:
            made.append(self.either())
            if self.peek() != ",":
                break
            self._take()
        self._take(end)
        return made

    def _member(self, of: Evaluate) -> Evaluate:
        while self.peek() in (".", "["):
            _, mark = self._take()
            if mark == "[":
                key = self.either()
                self._take("]")
                of = _item(of, key)
                continue
            kind, name = self._take()
            if kind != "name":
                raise UnknownSelector(self._expression)
            if self.peek() == "(":
                self._take()
                of = self._method(of, name, self._arguments(")"))
            else:
                of = _item(of, _constant(name))
        return of

    def _method(self, of: Evaluate, name: str, arguments: list[Evaluate]) -> Evaluate:
        method = _METHODS.get(name)
        if method is None or len(arguments) != (name != "lowerAscii"):
            raise UnknownSelector(self._expression)
        return lambda scope: method(of(scope), *(argument(scope) for argument in arguments))


def _decided(left: Evaluate, right: Evaluate, *, by: bool) -> Evaluate:
    """Join two conditions: one that decides the outcome does so even where the other has no value."""

    def evaluate(scope: Mapping[str, Value]) -> Value:
        try:
            first = left(scope)
        except NoSuchValue:
            if right(scope) is by:
                return by
            raise
        return by if first is by else bool(right(scope))

    return evaluate


def _constant(value: Value) -> Evaluate:
    return lambda scope: value


def _item(of: Evaluate, key: Evaluate) -> Evaluate:
    def evaluate(scope: Mapping[str, Value]) -> Value:
        held, name = of(scope), key(scope)
        if not isinstance(held, Mapping) or name not in held:
            raise NoSuchValue(name)
        return held[name]

    return evaluate


def _is_there(only: Evaluate, scope: Mapping[str, Value]) -> bool:
    try:
        only(scope)
    except NoSuchValue:
        return False
    return True


def _comparable(left: Value, right: Value) -> tuple[Value, Value]:
    # To CEL a truth value is no number.
    if isinstance(left, bool) != isinstance(right, bool):
        raise TypeError("no such overload")
    return left, right


def _compared(left: Value, right: Value) -> int:
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return (left > right) - (left < right)
    if isinstance(left, Version) and isinstance(right, Version):
        return (left > right) - (left < right)
    raise TypeError("no such overload")


def _lowered(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


def _found(text: str, pattern: str) -> bool:
    is_plain = (
        len(pattern) <= _MOST_PATTERN
        and len(text) <= _MOST_TEXT
        and len(_QUANTIFIER.findall(pattern)) <= _MOST_QUANTIFIERS
        and not _QUANTIFIED_GROUP.search(pattern)
    )
    if not is_plain:
        raise UnknownSelector(f"matches({pattern!r})")
    try:
        return re.search(pattern, text) is not None
    except re.error:
        raise UnknownSelector(f"matches({pattern!r})") from None


_METHODS: Mapping[str, Callable[..., Value]] = {
    "compareTo": _compared,
    "isGreaterThan": lambda left, right: _compared(left, right) > 0,
    "isLessThan": lambda left, right: _compared(left, right) < 0,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": lambda text, part: part in text,
    "lowerAscii": _lowered,
    "matches": _found,
}
