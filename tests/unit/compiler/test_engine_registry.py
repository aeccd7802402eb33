"""The engines' packages: one for each member of `Engine`, with the required modules."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import apportion_compiler.engines
from apportion_compiler.backends import BACKENDS
from apportion_compiler.engines import registry
from apportion_compiler.engines.registry import ENGINES, TRAITS, EngineParts, engine_parts
from apportion_compiler.rollout.models import MODELS
from apportion_policy.engine import Engine

FOLDER = Path(next(iter(apportion_compiler.engines.__path__)))


def test_engines_and_folders_correspond() -> None:
    folders = {path.name for path in FOLDER.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(ENGINES) == {engine.value for engine in Engine}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_a_backend(engine: str) -> None:
    assert BACKENDS[engine].name == engine
    assert TRAITS[engine].versions.product


def test_engine_parts_are_optional() -> None:
    assert set(MODELS) == {"kai", "koordinator", "volcano"}
    assert engine_parts("no_such_part", "PART") == {}


def test_nested_engine_parts_are_optional() -> None:
    assert engine_parts("no_such_part.pending", "RULES") == {}
    assert engine_parts("traits.pending", "RULES") == {}


def test_engine_parts_have_the_documented_types() -> None:
    documented = re.findall(
        r"^\| `([\w.]+)` \| `(\w+)` \| (\S+|tuple of `Rule`) \|", str(registry.__doc__), re.MULTILINE
    )
    assert len(documented) == 8
    for part, attribute, kind in documented:
        found = EngineParts[object](engine_parts(part, attribute))
        assert found, part
        for engine, value in found.items():
            if kind == "tuple of `Rule`":
                assert isinstance(value, tuple), (engine, part)
                assert all(map(callable, value)), (engine, part)
            else:
                module, _, name = kind.strip("`").rpartition(".")
                expected = getattr(import_module(f"apportion_compiler.{module}"), name)
                assert isinstance(value, expected), (engine, part)


def test_engine_parts_are_loaded_lazily() -> None:
    parts: EngineParts[object] = EngineParts(
        {"here": "apportion_compiler.engines.registry:ENGINES", "absent": "no.such:MODULE"}
    )
    assert list(parts) == ["here", "absent"]
    assert parts["here"] is ENGINES
    with pytest.raises(ModuleNotFoundError):
        parts["absent"]
