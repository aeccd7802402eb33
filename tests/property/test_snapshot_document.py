"""A snapshot is parsed exactly as written, and matches its schema."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_runtime.core.snapshot import Pod, Settings, Snapshot, SubGroup
from apportion_runtime.core.status import NAMES
from apportion_runtime.snapshots.document import read_document, snapshot_document, to_json, to_yaml
from apportion_runtime.snapshots.document_loader import Loader, Source
from apportion_runtime.snapshots.schema import snapshot_schema
from apportion_runtime.snapshots.snapshot_reader import read_snapshot

pytestmark = pytest.mark.property

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\x85\u2028\u2029"), max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60).map(float)
WHOLE = st.integers(-(2**63), 2**63)
SIMPLE: Mapping[Any, Any] = {
    str: TEXTS, int: WHOLE, bool: st.booleans(), float: NUMBERS, object: TEXTS | WHOLE | st.booleans(),
}  # fmt: skip


@cache
def values(hint: Any) -> st.SearchStrategy[Any]:
    if hint is SubGroup:
        leaves = st.builds(SubGroup, TEXTS, st.none() | WHOLE)
        return st.recursive(
            leaves,
            lambda below: st.builds(SubGroup, TEXTS, st.none() | WHOLE, st.lists(below, max_size=2).map(tuple)),
            max_leaves=4,
        )
    if is_dataclass(hint):
        return records(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (only,) = (a for a in arguments if a is not types.NoneType)
        return st.none() | values(only)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if origin is frozenset:
        return st.frozensets(values(arguments[0]), max_size=2)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(TEXTS, values(arguments[1]), max_size=2)
    return SIMPLE[hint]


def records(cls: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    made = {f.name: values(hints[f.name]) for f in fields(cls)}
    if cls is Pod:
        made["status"] = st.sampled_from(sorted(NAMES))
    return st.builds(cls, **made)


@settings(max_examples=60)
@given(records(Snapshot), records(Settings))
def test_snapshot_round_trip_is_lossless(snapshot: Snapshot, configured: Settings) -> None:
    document = snapshot_document(snapshot, configured)
    assert read_document(json.loads(to_json(document))) == (snapshot, configured)
    assert read_document(yaml.load(to_yaml(document), Loader=Loader)) == (snapshot, configured)


@settings(max_examples=20)
@given(records(Snapshot), records(Settings))
def test_written_snapshots_satisfy_the_schema(snapshot: Snapshot, configured: Settings) -> None:
    document = json.loads(to_json(snapshot_document(snapshot, configured)))
    jsonschema.Draft202012Validator(snapshot_schema()).validate(document)


SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | TEXTS | st.sampled_from(["v1", "Pod", "Node", "Queue", "scheduling.run.ai/v2"]),
    lambda below: st.lists(below, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["apiVersion", "kind", "metadata", "name", "namespace", "spec", "status", "items", "labels", "containers",
             "resources", "requests", "cpu", "subGroups", "parent", "nodes", "pods", "queues", "podGroups", "now"]
        ),
        below,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(SHAPES, max_size=3), st.sampled_from([None, "Pod", "Node", "Queue", "PodGroup", "Snapshot", "List"]))
def test_arbitrary_documents_yield_findings_not_exceptions(documents: list[Any], kind: str | None) -> None:
    versions = {
        "Queue": "scheduling.run.ai/v2",
        "PodGroup": "scheduling.run.ai/v2alpha2",
        "Snapshot": "apportion.dev/v1",
    }
    if kind is not None:
        documents = [
            {**made, "kind": kind, "apiVersion": versions.get(kind, "v1")} if isinstance(made, dict) else made
            for made in documents
        ]
    text = "".join(json.dumps(made) + "\n" for made in documents)
    read = read_snapshot([Source("-", text)])
    assert read.faults or read.snapshot is not None
