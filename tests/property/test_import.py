"""Importing what a backend wrote gives a policy that compiles to the same objects."""

from __future__ import annotations

import runpy
import sys
import tempfile
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.authoring.declaring import Identity
from apportion_compiler.authoring.files import policy_files
from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.emit.tree import object_key
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_compiler.readers import READERS
from apportion_compiler.readers.lifting import lift
from apportion_policy import Engine, Policy

from .strategies import AS_OF, names, policies

pytestmark = pytest.mark.property

ENGINES = sorted(READERS.keys() & BACKENDS.keys() - {"native"})


def _programs(policy: Policy) -> Iterator[Program]:
    graph = build_graph(declare(policy), AS_OF)
    return (lower(graph, scope) for scope in graph.scopes)


def _manifests(program: Program) -> tuple[Manifest, ...]:
    """What a cluster gets: the engine's objects, and the plain ones beside them."""
    outputs = (BACKENDS[name].emit(program) for name in dict.fromkeys((program.engine, "native")))
    return tuple(manifest for output in outputs for manifest in output.manifests)


def _imported(program: Program) -> Policy:
    identity = Identity(
        program.organisation, program.environment, program.cluster, Engine(program.engine), program.engine_version
    )
    files, _ = policy_files(lift(program.engine, _manifests(program)), identity)
    return evaluate(files)


def evaluate(files: Mapping[str, str]) -> Policy:
    """Write a policy's files and run them in this process."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        try:
            policy = runpy.run_path(str(Path(folder, "policy.py")))["policy"]
        finally:
            for module in [name for name in sys.modules if name.startswith("teams.")]:
                del sys.modules[module]
    assert isinstance(policy, Policy)
    return policy


def _without_sources(manifests: tuple[Manifest, ...]) -> dict[Any, Manifest]:
    """Objects by key, without the annotation that names the author's line."""
    held = deepcopy(manifests)
    for manifest in held:
        manifest["metadata"]["annotations"].pop("apportion.dev/source")  # type: ignore[index]
    return {object_key(manifest): manifest for manifest in held}


@pytest.mark.parametrize("engine", ENGINES)
@given(data=st.data())
def test_import_then_compile_changes_nothing(engine: str, data: st.DataObject) -> None:
    policy = data.draw(policies(6, names, engine))
    for program in _programs(policy):
        (again,) = _programs(_imported(program))
        before, after = _without_sources(_manifests(program)), _without_sources(_manifests(again))
        assert after.keys() == before.keys()
        changed = {key: (before[key], after[key]) for key in before if after[key] != before[key]}
        assert changed == {}
