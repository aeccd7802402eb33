"""No declared field of an engine's objects is lost in an import without a note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from apportion_compiler.backends.capability import Output
from apportion_compiler.backends.object_families import managed
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.errors import UnwritableError
from apportion_compiler.policy_writer.adoption import adopted_policy
from apportion_compiler.policy_writer.declarations import PolicyIdentity
from apportion_compiler.readers.record import Note
from apportion_policy import Engine
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import kubernetes_value

from .strategies import names, policies
from .test_import import ENGINES, _manifests, _programs, evaluate

pytestmark = pytest.mark.property

CRDS = Path(__file__).parents[1] / "crds"
NOT_OURS = ("apportion.dev/", "app.kubernetes.io/managed-by")
_MAX_DEPTH = 3


@cache
def _schemas() -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """Return the `spec` schema of each definition, by group and kind."""
    found = {}
    for file in sorted(CRDS.rglob("*.yaml")):
        for crd in yaml.load_all(file.read_text(encoding="utf-8"), yaml.CSafeLoader):
            if isinstance(crd, dict) and crd.get("kind") == "CustomResourceDefinition":
                for version in crd["spec"]["versions"]:
                    spec = version["schema"]["openAPIV3Schema"].get("properties", {}).get("spec", {})
                    found[crd["spec"]["group"], crd["spec"]["names"]["kind"]] = spec
    return found


def _values(schema: Mapping[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Draw valid, non-empty values of a field."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    properties = schema.get("properties", {})
    match schema.get("type"):
        case "integer" | "number":
            return st.integers(int(schema.get("minimum", 0)) or 1, int(schema.get("maximum", 1000)))
        case "boolean":
            return st.booleans()
        case "array" if depth < _MAX_DEPTH:
            return st.lists(_values(schema["items"], depth + 1), min_size=1, max_size=2)
        case "object" if properties and depth < _MAX_DEPTH:
            some = st.sampled_from(sorted(properties))
            return some.flatmap(lambda name: _values(properties[name], depth + 1).map(lambda value: {name: value}))
        case "object":
            return st.dictionaries(st.sampled_from(("a", "example.com/b")), st.just("x"), min_size=1)
    return st.sampled_from(("east", "a1", "10"))


@st.composite
def objects(draw: st.DrawFn, engine: str) -> list[dict[str, Any]]:
    """Draw emitted objects, with valid fields that no backend emits, and foreign labels and annotations."""
    programs = list(_programs(draw(policies(4, names, engine))))
    assume(programs)
    found: list[dict[str, Any]] = deepcopy(list(_manifests(programs[0])))
    for manifest in found:
        group = str(manifest["apiVersion"]).rpartition("/")[0]
        schema = _schemas().get((group, manifest["kind"]), {}).get("properties", {})
        absent = sorted(schema.keys() - manifest.get("spec", {}).keys())
        if absent and draw(st.booleans()):
            field = draw(st.sampled_from(absent))
            manifest.setdefault("spec", {})[field] = draw(_values(schema[field]))
        if draw(st.booleans()):
            manifest["metadata"].setdefault("annotations", {})["example.com/note"] = draw(st.sampled_from(("a", "b c")))
    return found


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=3, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_every_field_survives_import_or_is_reported(engine: str, data: st.DataObject) -> None:
    """Conservation: a leaf of an object is in the compiled objects with the same value, or a note says it.

    For every object of a kind that the engine reads, and every path in it to a value (metadata that the API server or
    Apportion writes left aside): the object of that kind, namespace and name that the imported policy compiles to holds
    an equal value at the path, or a note names the object, the path and the value. An import that is refused loses
    nothing quietly.
    """
    _assert_conserved(engine, data.draw(objects(engine)))


@pytest.mark.slow
@pytest.mark.parametrize("engine", [*ENGINES, "native"])
@settings(max_examples=20, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_every_field_of_many_trees_survives_import_or_is_reported(engine: str, data: st.DataObject) -> None:
    _assert_conserved(engine, data.draw(objects(engine)))


def _assert_conserved(engine: str, read: list[dict[str, Any]]) -> None:
    try:
        files, notes = adopted_policy(read, PolicyIdentity("acme", "prod", "main", Engine(engine), "0.18"))
    except (ValueError, UnwritableError):
        return
    if any("does not compile" in note.text for note in notes):
        return
    (program,) = _programs(evaluate(files))
    made = {_key(m): m for m in managed(Output(_manifests(program)), program).manifests}
    for manifest in read:
        if (str(manifest["apiVersion"]).rpartition("/")[0], manifest["kind"]) in TRAITS[engine].configuration_kinds:
            _assert_leaves(manifest, made.get(_key(manifest)), notes)


def _assert_leaves(manifest: Mapping[str, Any], made: object, notes: tuple[Note, ...]) -> None:
    name = manifest["metadata"]["name"]
    for path, value in _leaves(manifest, ()):
        if path[0] in ("apiVersion", "kind") or (path[0] == "metadata" and str(path[-1]).startswith(NOT_OURS)):
            continue
        there = _at(made, path)
        said = [note.text.lower() for note in notes if name in note.object]
        noted = any(str(path[-1]).lower() in text and str(value).lower() in text for text in said)
        assert _equal(value, there) or noted, (name, path, value, there)


def _leaves(value: object, path: tuple[object, ...]) -> Iterator[tuple[tuple[object, ...], object]]:
    steps = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else None
    )
    if steps is None:
        yield path, value
    else:
        for key, held in steps:
            yield from _leaves(held, (*path, key))


def _at(value: Any, path: tuple[object, ...]) -> object:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _equal(one: object, other: object) -> bool:
    if one == other:
        return True
    try:
        return kubernetes_value(str(one)) == kubernetes_value(str(other))
    except QuantityError:
        return isinstance(one, str) and isinstance(other, str) and _document(one) == _document(other)


def _document(text: str) -> object:
    try:
        return yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError:
        return text


def _key(manifest: Mapping[str, Any]) -> tuple[object, ...]:
    metadata = manifest["metadata"]
    return manifest["apiVersion"], manifest["kind"], metadata.get("namespace"), metadata["name"]
