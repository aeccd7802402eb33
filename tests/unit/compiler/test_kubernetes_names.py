"""Emitted names are valid in Kubernetes, unchanged if possible, and unique after truncation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.kubernetes_names import is_label_key, is_label_value, label_value, object_name, suggested_name

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*")
LONG = "a-research-group-with-a-name-longer-than-the-sixty-three-characters-of-a-label"


@given(st.text(min_size=1, max_size=253))
def test_object_name_is_valid(identity: str) -> None:
    name = object_name(identity)
    assert len(name) <= 63
    assert SUBDOMAIN.fullmatch(name)
    assert object_name(name) == name


@given(st.text(max_size=253))
def test_label_value_is_valid(text: str) -> None:
    assert re.fullmatch(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?", label_value(text))


@given(st.text(min_size=1, max_size=253))
def test_suggested_name_is_a_valid_label(identity: str) -> None:
    meant = suggested_name(identity)
    assert meant is None or LABEL.fullmatch(meant)


@pytest.mark.parametrize("identity", ["vision", "4d-imaging", "batch.low", "x" * 63])
def test_valid_id_is_unchanged(identity: str) -> None:
    assert object_name(identity) == identity


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        (LONG, "a-research-group-with-a-name-longer-than-the-sixty-thr-e48d3df0"),
        ("Vision_Team", "vision-team-07b8d317"),
        ("Größe", "groe-"),
        ("🤖", "x-"),
    ],
)
def test_invalid_id_keeps_a_readable_prefix(identity: str, name: str) -> None:
    assert object_name(identity).startswith(name)


def test_long_ids_with_equal_prefixes_stay_distinct() -> None:
    assert len({object_name(f"{LONG}-{n}") for n in range(100)}) == 100


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("team", True),
        ("acme.example/Contact_Point", True),
        ("", False),
        ("/team", False),
        ("acme.example/", False),
        ("Acme/team", False),
        ("a/b/c", False),
        ("cost centre", False),
        ("x" * 64, False),
    ],
)
def test_label_key(key: str, valid: bool) -> None:
    assert is_label_key(key) is valid


@pytest.mark.parametrize(
    ("value", "valid"), [("", True), ("A_b.c-1", True), ("-a", False), ("a ", False), ("é", False)]
)
def test_label_values(value: str, valid: bool) -> None:
    assert is_label_value(value) is valid
