"""ACK accepts the backend's objects, and importing them restores the policy, except for documented limitations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings

from apportion_compiler.backends.quota_tree import managed_resources
from apportion_compiler.engines.ack import emit as ack
from apportion_compiler.engines.ack.emit.tree import tree_numbers
from apportion_compiler.engines.ack.reader import READER
from apportion_compiler.engines.ack.rules import RULES
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import AckSettings, Policy
from apportion_policy.quantity import Unlimited, smaller

from .quota_trees import bounds, lifted_bounds, makes_sense, promised, within
from .strategies import AS_OF, policies

pytestmark = pytest.mark.property
SETTINGS = AckSettings(queue_policy="Block")


def _programs(policy: Policy) -> Iterator[Program]:
    graph = build_graph(declare(policy), AS_OF)
    return (replace(lower(graph, scope), engine="ack", ack=SETTINGS) for scope in graph.scopes)


@given(policies())
@settings(max_examples=35)
def test_emitted_objects_satisfy_the_rules(policy: Policy) -> None:
    for program in _programs(policy):
        assert list(RULES.check(ack.emit(program).manifests, ())) == []


@given(policies())
@settings(max_examples=35)
def test_import_of_emitted_objects_is_lossless(policy: Policy) -> None:
    for program in _programs(policy):
        record = READER.read(ack.emit(program).manifests)
        assert [(q.id, q.parent, q.namespaces) for q in record.queues] == [
            (q.id, q.parent, q.namespaces) for q in program.queues
        ]
        by_id = {queue.id: queue for queue in record.queues}
        sizes = tree_numbers(program).total
        for resource in managed_resources(program):
            if not makes_sense(program, resource):
                continue
            size = sizes[resource]
            assert {q.id: q.guaranteed[resource] for q in record.queues} == {
                q.id: promised(q, resource) for q in program.queues
            }
            assert within(lifted_bounds(record.queues, resource), size) == within(bounds(program, resource), size)
            for queue in program.queues:
                whole = promised(queue, resource)
                lent = queue.lending_limit.get(resource, whole)
                if not isinstance(whole, Unlimited) and resource != "gpu":
                    assert by_id[queue.id].lending_limit.get(resource, whole) == smaller(lent, whole)
