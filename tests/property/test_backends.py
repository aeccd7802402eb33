"""Properties of every backend for any policy."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest, Output
from apportion_compiler.backends.metadata import source_of
from apportion_compiler.compile import check_policy
from apportion_compiler.emit.tree import object_key, render_target
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_policy import Policy

from .strategies import AS_OF, Drawn, drawn, policies

pytestmark = pytest.mark.property


def _outputs(policy: Policy, as_of: date = AS_OF) -> Iterator[tuple[str, Output]]:
    """Emit every cluster with its engine's backend and the native one, without running the checks."""
    graph = build_graph(declare(policy), as_of)
    for scope in graph.scopes:
        program = lower(graph, scope)
        for name in dict.fromkeys((program.engine, "native")):
            yield f"{scope.name}/{name}", BACKENDS[name].emit(program)


def _files(policy: Policy) -> dict[str, Mapping[str, bytes]]:
    return {target: render_target(output, {}) for target, output in _outputs(policy)}


@given(drawn())
def test_compilation_is_deterministic(parts: Drawn) -> None:
    assert _files(parts.policy()) == _files(parts.policy())


@given(drawn(), st.data())
def test_declaration_order_does_not_affect_output(parts: Drawn, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(parts.queues))))
    assert _files(parts.permuted(order, data.draw(st.integers(0, 3)))) == _files(parts.policy())


@given(drawn())
def test_nested_and_referenced_parents_are_equivalent(parts: Drawn) -> None:
    assert _files(parts.nested()) == _files(parts.policy())


@given(drawn(max_queues=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_compilation_opens_no_socket(monkeypatch: pytest.MonkeyPatch, parts: Drawn) -> None:
    usual = _files(parts.policy())

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the compiler opened a socket")

    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", refuse)
        patched.setattr(socket, "create_connection", refuse)
        patched.setenv("KUBECONFIG", str(Path("/nonexistent/rubbish")))
        patched.setenv("HOME", "/nonexistent")
        assert _files(parts.policy()) == usual


@given(policies())
def test_checks_never_raise(policy: Policy) -> None:
    first = check_policy(policy, AS_OF).diagnostics
    assert first == check_policy(policy, AS_OF).diagnostics
    assert all(d.message and d.at.line for d in first)


@given(policies())
def test_object_keys_are_unique(policy: Policy) -> None:
    for target, output in _outputs(policy):
        keys = [object_key(manifest) for manifest in output.manifests]
        assert len(set(keys)) == len(keys), target


@given(policies())
def test_parent_queues_precede_their_children(policy: Policy) -> None:
    for _, output in _outputs(policy):
        seen: set[str] = set()
        for manifest in _of_kind(output, "Queue"):
            parent = manifest["spec"].get("parentQueue")
            assert parent is None or parent in seen
            seen.add(object_key(manifest).name)


@given(policies())
def test_every_object_has_provenance_metadata(policy: Policy) -> None:
    for _, output in _outputs(policy):
        for manifest in output.manifests:
            metadata = manifest["metadata"]
            assert isinstance(metadata, dict)
            assert metadata["labels"]["app.kubernetes.io/managed-by"] == "apportion"
            source = source_of(manifest)
            assert source is not None
            assert source.file.endswith("strategies.py")
            assert source.line > 0


def _of_kind(output: Output, kind: str) -> list[Manifest]:
    return [manifest for manifest in output.manifests if manifest["kind"] == kind]
