"""The difference between two policies: complete, without duplicates, and empty for an edit without effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_compiler.backends import EMITTERS
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import PolicyGraph, build_graph
from apportion_compiler.ir.lower import lower
from apportion_policy import Policy, Queue
from apportion_review.differences import applied, differences
from apportion_review.facts import QUEUE, Fact
from apportion_review.policy_facts import facts_of
from apportion_review.statements import statements

from .strategies import AS_OF, Drawn, drawn, resources


def graph_of(policy: Policy) -> PolicyGraph:
    """Return the graph at the fixed date of the tests."""
    return build_graph(declare(policy), AS_OF)


_AMOUNTS = st.none() | resources()
_FOUR_QUEUES = drawn(max_queues=4)
_ONE_QUEUE = drawn(max_queues=1)


@st.composite
def edits(draw: st.DrawFn) -> tuple[Policy, Policy]:
    """Draw a policy, and a copy with one or two fields, queues or clusters changed."""
    base = draw(_FOUR_QUEUES)
    head = base
    for _ in range(draw(st.integers(1, 2))):
        head = draw(_edited(head))
    return base.policy(), head.policy()


@st.composite
def _edited(draw: st.DrawFn, whole: Drawn) -> Drawn:
    queues, index = list(whole.queues), draw(st.integers(0, len(whole.queues) - 1))
    other = draw(_ONE_QUEUE)
    what = draw(st.sampled_from(("amount", "field", "cluster", "pool", "rename")))
    if what == "amount":
        field = draw(st.sampled_from(("guaranteed", "limit", "lending_limit")))
        queues[index] = {**queues[index], field: draw(_AMOUNTS)}
    elif what == "field":
        kept = ("id", "namespaces", "pools", "priority_classes")
        field = draw(st.sampled_from([name for name in queues[index] if name not in kept]))
        queues[index] = {**queues[index], field: other.queues[0][field]}
    elif what == "rename" and not _names_queues(whole):
        queues[index] = {**queues[index], "id": "renamed-by-an-edit"}
    elif what == "pool":
        return replace(whole, pools=tuple(replace_pool(p, draw(st.integers(0, 9))) for p in whole.pools))
    else:
        share = draw(st.sampled_from(("1", "1/2", "1/7")))
        environments = [
            e.model_copy(update={"clusters": tuple(c.model_copy(update={"share": share}) for c in e.clusters)})
            for e in whole.environments
        ]
        return replace(whole, environments=tuple(environments))
    return replace(whole, queues=tuple(queues))


def _names_queues(whole: Drawn) -> bool:
    return any(cls.queues for cls in whole.classes) or any(e.overrides for e in whole.environments)


def replace_pool(pool: Any, max_nodes: int) -> Any:
    """Return the pool with a different number of machines."""
    return pool.model_copy(update={"max_nodes": max_nodes})


def _base_with_differences_is_head(pair: tuple[Policy, Policy]) -> None:
    base, head = map(graph_of, pair)
    found = differences(facts_of(base), facts_of(head))
    values = applied(facts_of(base), found.renames, found.changes)
    for scope in head.scopes:
        for queue in lower(head, scope).queues:
            for field in ("guaranteed", "limit", "lending_limit"):
                assert _amounts(values, queue.id, str(scope.name), field) == getattr(queue, field)
            assert values.get(Fact(QUEUE, queue.id, str(scope.name), ("priority",))) == queue.priority
            assert values[Fact(QUEUE, queue.id, str(scope.name), ("pools",))] == queue.pools
            assert values.get(Fact(QUEUE, queue.id, "", ("owner",))) == queue.owner
            assert values[Fact(QUEUE, queue.id, "", ("priority_classes",))] == tuple(sorted(queue.priority_classes))


def _amounts(values: Mapping[Fact, Any], queue: str, scope: str, field: str) -> dict[str, Any]:
    return {
        fact.field[1]: value
        for fact, value in values.items()
        if fact[:3] == (QUEUE, queue, scope) and fact.field[:1] == (field,)
    }


def _every_change_is_in_one_statement(pair: tuple[Policy, Policy]) -> None:
    found = differences(*(facts_of(graph_of(policy)) for policy in pair))
    made = statements(found)
    assert Counter(change for statement in made for change in statement.changes) == Counter(found.changes)
    assert all(statement.changes or statement.action == "renamed" for statement in made)


def _without_difference_objects_are_equal(pair: tuple[Policy, Policy]) -> None:
    base, head = map(graph_of, pair)
    if differences(facts_of(base), facts_of(head)):
        return
    for one, other in zip(base.scopes, head.scopes, strict=True):
        program, changed = lower(base, one), lower(head, other)
        assert EMITTERS[program.engine].emit(program).manifests == EMITTERS[changed.engine].emit(changed).manifests


@given(edits())
@settings(max_examples=20)
def test_diff_is_complete_and_without_repetition(pair: tuple[Policy, Policy]) -> None:
    """A comparison is complete and minimal.

    * The changes applied to the base give the values in force of the head, as the compiler resolves them.
    * Each changed field is reported once, and each report is a change or a rename.
    * Policies without a difference compile to the same objects.
    """
    _base_with_differences_is_head(pair)
    _every_change_is_in_one_statement(pair)
    _without_difference_objects_are_equal(pair)


@pytest.mark.slow
@given(edits())
@settings(max_examples=400)
def test_many_diffs_are_complete_and_without_repetition(pair: tuple[Policy, Policy]) -> None:
    """As above, more often."""
    _base_with_differences_is_head(pair)
    _every_change_is_in_one_statement(pair)
    _without_difference_objects_are_equal(pair)


@settings(max_examples=15)
@given(drawn(max_queues=4), st.data())
def test_order_and_nesting_do_not_differ(whole: Drawn, data: st.DataObject) -> None:
    """A different order of declarations, or nesting in parents, is not a difference."""
    order = data.draw(st.permutations(range(len(whole.queues))))
    facts = facts_of(graph_of(whole.policy()))
    for other in (whole.permuted(order, data.draw(st.integers(0, 3))), whole.nested()):
        assert not differences(facts, facts_of(graph_of(other)))


@given(drawn(max_queues=4).filter(lambda whole: not _names_queues(whole)), st.data())
@settings(max_examples=15)
def test_renamed_queue_is_reported_as_one_rename(whole: Drawn, data: st.DataObject) -> None:
    """A queue that has namespaces and gets another id is renamed, and nothing else changes."""
    named = [i for i, queue in enumerate(whole.queues) if queue["namespaces"]]
    if not named:
        return
    index = data.draw(st.sampled_from(named))
    queues = list(whole.queues)
    queues[index] = {**queues[index], "id": "renamed-by-an-edit"}
    head = replace(whole, queues=tuple(queues)).policy()
    found = differences(facts_of(graph_of(whole.policy())), facts_of(graph_of(head)))
    assert [(rename.before, rename.after) for rename in found.renames] == [
        (whole.queues[index]["id"], "renamed-by-an-edit")
    ]
    assert found.changes == ()
    assert isinstance(head.queues[index], Queue)
