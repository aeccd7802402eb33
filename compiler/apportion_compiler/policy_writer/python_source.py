"""A declaration as Python source: the fields that differ from their defaults, in the order of the class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from apportion_compiler.policy_writer.expressions import Atom, Expression, call, mapping, sequence, text_literal
from apportion_policy.declaration import Declaration
from apportion_policy.engine import Engine
from apportion_policy.placement import PlacementStrategy
from apportion_policy.pool import GPU_TAINT
from apportion_policy.priority import BUILD, BUILD_PREEMPTIBLE, INFERENCE, TRAIN
from apportion_policy.quantity import UNLIMITED, Unlimited

_QUANTITIES = frozenset(("cpu", "memory", "gpu", "extended", "over_quota_weight", "k_value"))
"""Fields with canonical text of a number, which are written as a number."""
_REFERENCES = frozenset(("parent", "pools", "provisioning"))
_WHOLE = re.compile(r"0|[1-9][0-9]{0,14}")
_CONSTANTS: tuple[tuple[Declaration, str], ...] = (
    (TRAIN, "TRAIN"),
    (BUILD_PREEMPTIBLE, "BUILD_PREEMPTIBLE"),
    (BUILD, "BUILD"),
    (INFERENCE, "INFERENCE"),
    (GPU_TAINT, "GPU_TAINT"),
)

Names = Mapping[tuple[str, str], str]
"""The variable name of a declaration, by the referencing field and the declaration's identity."""


def expression_of(value: object, names: Names, field: str = "") -> Expression:
    """Return the expression of a declaration or of the value of one of its fields."""
    if isinstance(value, Declaration):
        return _declaration(value, names)
    if isinstance(value, Enum):
        return _member(value)
    if isinstance(value, str):
        return _text(value, names, field)
    if isinstance(value, Mapping):
        return mapping({str(key): expression_of(item, names, field) for key, item in value.items()})
    if isinstance(value, tuple | list):
        return sequence(tuple(expression_of(item, names, field) for item in value))
    return Atom(repr(value))


def _declaration(value: Declaration, names: Names) -> Expression:
    for constant, name in _CONSTANTS:
        if value == constant:
            return Atom(name, (name,))
    fields: dict[str, Any] = {
        name: getattr(value, name)
        for name, info in type(value).model_fields.items()
        if name in value.model_fields_set and getattr(value, name) != info.get_default(call_default_factory=True)
    }
    return call(type(value).__name__, {name: expression_of(held, names, name) for name, held in fields.items()})


def _member(value: Enum) -> Atom:
    if isinstance(value, Unlimited):
        return Atom("UNLIMITED", ("UNLIMITED",))
    if isinstance(value, PlacementStrategy):
        return Atom(value.name, (value.name,))
    assert isinstance(value, Engine) or value.name.isidentifier()
    return Atom(f"{type(value).__name__}.{value.name}", (type(value).__name__,))


def _text(value: str, names: Names, field: str) -> Atom:
    if field in _QUANTITIES:
        if value == UNLIMITED.value:
            return Atom("UNLIMITED", ("UNLIMITED",))
        if _WHOLE.fullmatch(value):
            return Atom(value)
    if field in _REFERENCES and (field, value) in names:
        return Atom(names[field, value])
    return Atom(text_literal(value))
