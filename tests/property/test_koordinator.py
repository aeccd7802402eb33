"""Koordinator's webhook accepts the backend's output, and importing it restores the policy, except for limitations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from apportion_api.koordinator.names import FORCE_UPDATE_LABEL
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.engines.koordinator import emit as koordinator
from apportion_compiler.engines.koordinator.emit.quotas import lends_nothing, weighs_nothing
from apportion_compiler.engines.koordinator.emit.trees import trees_of
from apportion_compiler.engines.koordinator.reader import READER
from apportion_compiler.engines.koordinator.rules import RULES
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import Policy

from .quota_trees import bounds, lifted_bounds, makes_sense, promised, within
from .strategies import AS_OF, names, policies

pytestmark = pytest.mark.property


def _programs(policy: Policy) -> Iterator[Program]:
    graph = build_graph(declare(policy), AS_OF)
    for scope in graph.scopes:
        program = lower(graph, scope)
        # A class in a priority band of batch or mid resources is rejected, so it is never emitted.
        classes = tuple(cls for cls in program.priority_classes if not 5000 <= cls.value <= 7999)
        yield replace(program, priority_classes=classes)


def _unforced(manifest: Manifest) -> Manifest:
    """Return a quota to which the webhook applies all of its rules."""
    held: dict[str, Any] = deepcopy(manifest)
    held["metadata"]["labels"].pop(FORCE_UPDATE_LABEL, None)
    return held


@given(policies(engine="koordinator"))
@settings(max_examples=30)
def test_emitted_objects_satisfy_the_rules(policy: Policy) -> None:
    for program in _programs(policy):
        written = [_unforced(manifest) for manifest in koordinator.emit(program).manifests]
        largest = max((n for tree in trees_of(program) for n in tree.numbers.total.values()), default=0)
        if largest <= (2**63 - 1) // 5:
            assert list(RULES.check(written, ())) == []


@given(policies(6, names, "koordinator"))
@settings(max_examples=30)
def test_import_of_emitted_objects_is_lossless(policy: Policy) -> None:
    for program in _programs(policy):
        trees = trees_of(program)
        record = READER.read(koordinator.emit(program).manifests)
        assert [(q.id, q.parent, q.namespaces) for q in record.queues] == [
            (q.id, q.parent, q.namespaces) for q in program.queues
        ]
        by_id = {queue.id: queue for queue in record.queues}
        for queue in program.queues:
            lent = by_id[queue.id].lending_limit
            assert set(lent.values()) <= {0}
            assert lends_nothing(queue) or not lent
            if not weighs_nothing(queue, trees[0]):
                assert by_id[queue.id].weight == _weights(queue.weight, trees[0].numbers.total)
        for resource, size in trees[0].numbers.total.items():
            if makes_sense(program, resource) and not (len(trees) > 1 and resource == "gpu"):
                assert {q.id: q.guaranteed[resource] for q in record.queues} == {
                    q.id: promised(q, resource) for q in program.queues
                }
                assert within(lifted_bounds(record.queues, resource), size) == within(bounds(program, resource), size)


def _weights(weight: Mapping[str, int], managed: Mapping[str, int]) -> dict[str, int]:
    return {resource: amount for resource, amount in weight.items() if resource in managed}
