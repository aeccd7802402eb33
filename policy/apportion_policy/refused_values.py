"""Messages for invalid values of declarations, replacing pydantic's, which are written for programmers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from apportion_policy.gpu_model import GPU_MODEL_PATTERN

Path = tuple[str | int, ...]
_MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """An invalid value: its path in the input, and a lower-case clause.

    For an unexpected or missing field, the clause names the field, and the path is that of its parent. `error_path` is
    pydantic's, which also contains union members.
    """

    path: Path
    message: str
    error_path: Path


def refused_values(error: ValidationError, model: type[BaseModel] | None, data: object) -> list[RefusedValue]:
    """Return the values of the input that a model rejected; if the input is unknown (None), paths are pydantic's."""
    found: dict[tuple[Path, str], RefusedValue] = {}
    for one in error.errors(include_url=False):
        path = _given_path(one["loc"], data)
        message = _message(one, model)
        if one["type"] in _NAMED and one["loc"]:
            path = _given_path(one["loc"][:-1], data)
        # The last member of a union is the most general, and describes the valid values of the field.
        key = (path, "" if len(path) < len(one["loc"]) and one["type"] not in _NAMED else message)
        found[key] = RefusedValue(path, message, one["loc"])
    return list(found.values())


_NAMED = ("extra_forbidden", "missing")


def _given_path(loc: Path, data: object) -> Path:
    """Return the parts of a path that exist in the input: others name a member of a union, or a mapping's key."""
    if data is None:
        return loc
    path: list[str | int] = []
    for part in loc:
        if isinstance(data, Mapping) and part in data:
            data = cast(Mapping[Any, object], data)[part]
        elif isinstance(data, list | tuple) and isinstance(part, int) and part < len(cast(Sequence[object], data)):
            data = cast(Sequence[object], data)[part]
        elif isinstance(data, BaseModel) and isinstance(part, str) and part in type(data).model_fields:
            data = getattr(data, part, None)
        else:
            continue
        path.append(part)
    return tuple(path)


def _message(error: Any, model: type[BaseModel] | None) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    name = _shown(error["loc"][-1]) if error["loc"] else ""
    if kind == "extra_forbidden":
        meant = _suggestion(model, error["loc"])
        return f"unknown field {name}" + (f"; did you mean `{meant}`?" if meant is not None else "")
    if kind == "missing":
        return f"field {name} is required"
    if kind in ("value_error", "assertion_error"):
        # Raised by a validator of a declaration.
        return _lower(str(context.get("error", "")) or _UNKNOWN)
    said = MESSAGES.get(kind)
    return _UNKNOWN if said is None else said(value, context)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text[:2] != text[:2].upper() else text


def _suggestion(model: type[BaseModel] | None, loc: Path) -> str | None:
    """Return the most similar field of the models that the path may lead to."""
    if model is None:
        return None
    reached: set[type[BaseModel]] = {model}
    for part in loc[:-1]:
        inner = {
            m for one in reached if part in one.model_fields for m in _models(one.model_fields[str(part)].annotation)
        }
        tagged = {one for one in reached if "kind" in one.model_fields and one.model_fields["kind"].default == part}
        reached = inner or tagged or reached
    fields = sorted({name for one in reached for name in one.model_fields})
    return next(iter(get_close_matches(str(loc[-1]), fields, n=1)), None)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def kind_of_value(value: object) -> str:
    """Return the type of a value, in terms of Python and YAML."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    for types, said in _KINDS:
        if isinstance(value, types):
            return said
    return f"a {type(value).__name__[:_MAX_SHOWN]}"


_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((int, float, Decimal), "a number"),
    ((str,), "text"),
    ((bytes,), "bytes"),
    ((Mapping,), "a mapping"),
    ((list, tuple, set, frozenset), "a list"),
)


def _given(value: object) -> str:
    """Return a short value as it was written, and the type of a long one."""
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _MAX_SHOWN else f'"{value[:_MAX_SHOWN]}…"'
    if isinstance(value, int | float) and not isinstance(value, bool) and len(repr(value)) <= _MAX_SHOWN:
        return repr(value)
    return kind_of_value(value)


def _shown(part: str | int) -> str:
    return f"`{str(part)[:_MAX_SHOWN]}`"


_Context = Mapping[str, Any]
_Said = Callable[[object, _Context], str]
_UNKNOWN = "has an invalid value"


def _must_be(what: str) -> _Said:
    return lambda value, _: f"must be {what}, not {_given(value)}"


def _bound(words: str, key: str) -> _Said:
    return lambda value, context: f"must be {words} {context[key]}, not {_given(value)}"


def _size(words: str, key: str, noun: str) -> _Said:
    def said(_: object, context: _Context) -> str:
        n = context[key]
        if key == "min_length" and n == 1:
            return "must not be empty"
        return f"must have {words} {n} {noun}{'s' * (n != 1)}"

    return said


def _one_of(value: object, context: _Context) -> str:
    expected = str(context["expected"]).replace("'", "`")
    return f"must be {expected}, not {_given(value)}"


def _pattern(value: object, context: _Context) -> str:
    forms = {GPU_MODEL_PATTERN: "a GPU model such as h100", r"^AP\d{3}$": "a code such as AP201"}
    return f"must be {forms.get(context['pattern'], context['pattern'])}, not {_given(value)}"


def _tag(value: object, context: _Context) -> str:
    expected = str(context["expected_tags"]).replace("'", "`")
    return f'must have a {str(context["discriminator"]).strip(chr(39))} of {expected}, not "{context["tag"]}"'


def _untagged(value: object, context: _Context) -> str:
    if not isinstance(value, Mapping):
        return f"must be a declaration or a mapping, not {_given(value)}"
    return f"requires its {str(context['discriminator']).strip(chr(39))}"


def _model(value: object, context: _Context) -> str:
    return f"must be `{context.get('class_name', 'Declaration')}`, not {_given(value)}"


def _same(types: Iterable[str], said: _Said) -> dict[str, _Said]:
    return dict.fromkeys(types, said)


MESSAGES: Mapping[str, _Said] = {
    "string_type": _must_be("text"),
    "string_unicode": lambda _, __: "must be a Unicode string without surrogates",
    "string_too_short": _size("at least", "min_length", "character"),
    "string_too_long": _size("at most", "max_length", "character"),
    "string_pattern_mismatch": _pattern,
    "too_short": _size("at least", "min_length", "item"),
    "too_long": _size("at most", "max_length", "item"),
    **_same(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), _must_be("a whole number")),
    **_same(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), _must_be("a number")),
    **_same(("fraction_type", "fraction_parsing"), _must_be("a number or a fraction such as 1/2")),
    "finite_number": _must_be("a finite number"),
    **_same(("bool_type", "bool_parsing"), _must_be("true or false")),
    **_same(("enum", "literal_error"), _one_of),
    **_same(("tuple_type", "list_type", "set_type", "frozen_set_type", "iterable_type"), _must_be("a list")),
    **_same(("dict_type", "mapping_type"), _must_be("a mapping")),
    "invalid_key": lambda value, _: f"has a key that is {kind_of_value(value)}, not a string",
    **_same(
        (
            "date_type",
            "date_parsing",
            "date_from_datetime_parsing",
            "date_from_datetime_inexact",
        ),
        _must_be("a date such as 2026-12-31"),
    ),
    **_same(("time_delta_type", "time_delta_parsing"), _must_be("a duration such as 15m")),
    "greater_than": _bound("more than", "gt"),
    "greater_than_equal": _bound("at least", "ge"),
    "less_than": _bound("less than", "lt"),
    "less_than_equal": _bound("at most", "le"),
    **_same(("model_type", "model_attributes_type"), _model),
    "union_tag_invalid": _tag,
    "union_tag_not_found": _untagged,
    "none_required": lambda value, _: f"must be unset, not {_given(value)}",
    "recursion_loop": lambda _, __: "contains itself",
}
"""Messages for each type of error that pydantic's core can raise; a test compares it with the models."""
