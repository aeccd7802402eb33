"""Invalid values are reported in plain terms, and misspelled fields get a suggestion."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core.core_schema import ErrorType

from apportion_policy import Accelerator, Cluster, NodePool, Override, Policy, PriorityClass, Queue, Resources
from apportion_policy.declaration import AuthoringFault, Declaration, collecting_faults
from apportion_policy.documents import load_document
from apportion_policy.errors import DocumentFault
from apportion_policy.refused_values import MESSAGES

PYDANTIC = (
    "input should", "extra inputs", "type=", "for further information", "validation error", "field required",
    "unable to", "valid dict", "valid string", "valid integer", "nonetype", "<class",
)  # fmt: skip

RAISED_BY: dict[str, tuple[str, ...]] = {
    "any": (),
    "bool": ("bool_type", "bool_parsing"),
    "date": ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
    "decimal": ("decimal_type", "decimal_parsing", "finite_number"),
    "default": (),
    "definition-ref": (),
    "definitions": (),
    "dict": ("dict_type", "mapping_type", "invalid_key"),
    "enum": ("enum",),
    "float": ("float_type", "float_parsing", "finite_number"),
    "fraction": ("fraction_type", "fraction_parsing"),
    "function-after": ("value_error", "assertion_error"),
    "function-before": ("value_error", "assertion_error"),
    "function-plain": ("value_error", "assertion_error"),
    "function-wrap": ("value_error", "assertion_error"),
    "int": (
        "int_type", "int_parsing", "int_parsing_size", "int_from_float",
        "greater_than", "greater_than_equal", "less_than", "less_than_equal",
    ),
    "literal": ("literal_error",),
    "model": ("model_type", "model_attributes_type", "recursion_loop"),
    "model-field": (),
    "model-fields": ("extra_forbidden", "missing", "model_attributes_type"),
    "no-info": (),
    "nullable": (),
    "str": ("string_type", "string_unicode", "string_too_short", "string_too_long", "string_pattern_mismatch"),
    "tagged-union": ("union_tag_invalid", "union_tag_not_found"),
    "timedelta": ("time_delta_type", "time_delta_parsing"),
    "tuple": ("tuple_type", "iterable_type", "too_short", "too_long"),
    "union": (),
}  # fmt: skip
"""Types of errors that each kind of core schema raises with the constraints that the models use."""
OWN = {"extra_forbidden", "missing", "value_error", "assertion_error"}


def _models(of: type[Declaration] = Declaration) -> Iterator[type[Declaration]]:
    for model in of.__subclasses__():
        yield model
        yield from _models(model)


MODELS = sorted({m for m in _models() if m.__module__.startswith("apportion_policy")}, key=lambda m: m.__name__)


def _schema_types(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), str):
            yield schema["type"]
        schema = list(schema.values())
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from _schema_types(part)


def test_every_pydantic_error_has_a_message() -> None:
    used: set[str] = set()
    for model in MODELS:
        model.model_rebuild()
        used |= set(_schema_types(model.__pydantic_core_schema__))
    assert used <= set(RAISED_BY), "say which errors the new kinds of schema raise"
    raised = {error for kind in used for error in RAISED_BY[kind]}
    assert raised - OWN <= set(MESSAGES)
    assert raised <= set(get_args(ErrorType))


def _refused(model: Any, /, **fields: object) -> list[AuthoringFault]:
    with collecting_faults() as faults:
        model(**fields)
    return faults


def _said(model: Any, /, **fields: object) -> list[tuple[str, str]]:
    return [(".".join(map(str, fault.path)), fault.message) for fault in _refused(model, **fields)]


@pytest.mark.parametrize(
    ("model", "fields", "said"),
    [
        (Queue, {"id": "a", "guarantee": 1}, ("", "unknown field `guarantee`; did you mean `guaranteed`?")),
        (Queue, {"id": "a", "namespace": ("x",)}, ("", "unknown field `namespace`; did you mean `namespaces`?")),
        (Queue, {"id": "a", "colour": 1}, ("", "unknown field `colour`")),
        (Queue, {}, ("", "field `id` is required")),
        (Queue, {"id": 3}, ("id", "must be text, not 3")),
        (Queue, {"id": ""}, ("id", "must not be empty")),
        (Queue, {"id": "a", "namespaces": "vision"}, ("namespaces", 'must be a list, not "vision"')),
        (Queue, {"id": "a", "priority": -1}, ("priority", "must be at least 0, not -1")),
        (Queue, {"id": "a", "priority": "high"}, ("priority", 'must be a whole number, not "high"')),
        (Queue, {"id": "a", "over_quota_weight": -1}, ("over_quota_weight", None)),
        (Queue, {"id": "a", "labels": []}, ("labels", "must be a mapping, not a list")),
        (Queue, {"id": "a", "guaranteed": 8}, ("guaranteed", "must be `Resources`, not 8")),
        (
            Override,
            {"begin": "soon", "end": "2026-12-31", "reason": "r", "owner": "@a/b"},
            ("begin", 'must be a date such as 2026-12-31, not "soon"'),
        ),
        (Cluster, {"name": "c", "engine": "kia", "engine_version": "1"}, ("engine", None)),
        (PriorityClass, {"name": "a", "value": "1.5"}, ("value", 'must be a whole number, not "1.5"')),
        (Accelerator, {"model": "H100!", "count": 8}, ("model", 'must be a GPU model such as h100, not "H100!"')),
        (NodePool, {"id": "p", "cpu": 1, "memory": 1, "max_nodes": 1, "taints": ({"kye": "a"},)}, ("taints.0", None)),
        (Resources, {"gpu": {"h100": -1}}, ("gpu", None)),
    ],
    ids=lambda value: None if isinstance(value, type) else str(value)[:40],
)
def test_refused_value_is_described(model: Any, fields: dict[str, object], said: tuple[str, str | None]) -> None:
    found = _said(model, **fields)
    assert said[0] in [path for path, _ in found]
    assert said[1] is None or said in found
    assert not [message for _, message in found if any(phrase in message.lower() for phrase in PYDANTIC)]


_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=3),
    st.dates(), st.sampled_from([Decimal("nan"), Fraction(1, 3), object(), datetime(2026, 1, 1, 3, tzinfo=UTC), Queue, len]),
    st.sampled_from([Queue(id="a"), Resources(gpu=1), PriorityClass(name="p", value=1)]),
)  # fmt: skip
_keys = st.one_of(st.text(max_size=5), st.sampled_from([f for m in MODELS for f in m.model_fields]), st.integers())
_junk = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.tuples(inner), st.dictionaries(_keys, inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip


@st.composite
def _bad(draw: st.DrawFn) -> tuple[type[Declaration], dict[str, object]]:
    model = draw(st.sampled_from(MODELS))
    names = st.one_of(st.sampled_from(sorted(model.model_fields) or ["x"]), st.text(min_size=1, max_size=6))
    return model, draw(st.dictionaries(names, _junk, max_size=4))


def _speaks_our_words(model: type[Declaration], fields: dict[str, object]) -> None:
    for fault in _refused(model, **fields):
        shown = fault.message.lower()
        assert not [phrase for phrase in PYDANTIC if phrase in shown], fault
        assert fault.message
        assert not {"function-plain", "one", "each"} & set(map(str, fault.path)) - set(map(str, fields)), fault


@given(_bad())
@settings(max_examples=60, deadline=None)
def test_pydantic_messages_are_not_shown(bad: tuple[type[Declaration], dict[str, object]]) -> None:
    _speaks_our_words(*bad)


@pytest.mark.slow
@given(_bad())
@settings(max_examples=2_000, deadline=None)
def test_pydantic_messages_are_not_shown_in_many_cases(bad: tuple[type[Declaration], dict[str, object]]) -> None:
    _speaks_our_words(*bad)


@given(st.dictionaries(st.sampled_from(sorted(Policy.model_fields)), _junk, max_size=3))
@settings(max_examples=40, deadline=None)
def test_pydantic_messages_are_not_shown_for_documents(
    tmp_path_factory: pytest.TempPathFactory, body: dict[str, object]
) -> None:
    try:
        text = yaml.safe_dump({"apiVersion": "apportion.dev/v1", "kind": "Policy", **body})
    except yaml.YAMLError:
        return
    file: Path = tmp_path_factory.mktemp("document") / "policy.yaml"
    file.write_text(text, encoding="utf-8", errors="replace")
    try:
        load_document(file)
    except DocumentFault as refused:
        for fault in refused.faults:
            assert not [phrase for phrase in PYDANTIC if phrase in fault.message.lower()], fault


def test_invalid_declaration_is_reported_once() -> None:
    not_a_number: Any = "high"
    with collecting_faults() as faults:
        loan = Override(begin=date(2026, 12, 5), end=date(2026, 12, 1), reason="loan", owner="@acme/research")
        Queue(id="vision", overrides=(loan,))
        Queue(id="speech", overrides=(loan,), priority=not_a_number)
    assert [(fault.declaration, fault.path) for fault in faults] == [("Override", ()), ("Queue", ("priority",))]
