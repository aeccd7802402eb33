"""Declarations record their line, are equal across lines, and report all invalid values at once."""

from __future__ import annotations

import copy

import pytest
from pydantic import ValidationError

from apportion_policy import BUILD, Fixed, NodePool, Organisation, Policy, Queue, Resources
from apportion_policy.declaration import collecting_faults


def _line() -> int:
    import sys

    return sys._getframe(1).f_lineno


def test_declaration_has_its_line() -> None:
    queue = Queue(
        id="a",
        guaranteed=Resources(gpu=1),
    )
    assert queue.source.file == __file__
    assert queue.source.line == _line() - 5
    assert queue.guaranteed is not None
    assert queue.guaranteed.source.line == _line() - 5


def test_declaration_in_a_helper_has_the_line_of_the_caller() -> None:
    def team(name: str) -> Queue:
        return Queue(id=name)

    queue = team("a")
    assert queue.source.line == _line() - 3
    assert queue.source.callers[0].line == _line() - 2


def test_equality_ignores_locations() -> None:
    first = Resources(cpu="1000m", gpu={"h100": 8})
    second = Resources(cpu=1, gpu={"h100": "8"})
    assert first == second
    assert first.source.line != second.source.line


def test_locations_are_copied_and_not_dumped() -> None:
    pool = NodePool(id="p", max_nodes=1, provider=Fixed())
    assert copy.deepcopy(pool).source.line == pool.source.line
    assert "source" not in repr(pool.model_dump())


def test_modified_copy_is_validated_with_its_own_location() -> None:
    pool = NodePool(id="p", max_nodes=1)
    copied = pool.model_copy(update={"max_nodes": 2})
    assert (copied.max_nodes, copied.id, copied.source.line) == (2, "p", _line() - 1)
    assert BUILD.model_copy(update={"value": 99}).source.file == __file__
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        pool.model_copy(update={"max_nodes": -1})


def test_declarations_are_immutable() -> None:
    queue = Queue(id="a")
    with pytest.raises(ValidationError, match="frozen"):
        queue.id = "b"


def test_invalid_value_raises_outside_evaluation() -> None:
    with pytest.raises(ValidationError, match="negative"):
        Resources(cpu=-1)


def test_invalid_values_are_collected_during_evaluation() -> None:
    with collecting_faults() as faults:
        queue = Queue(id="a", limit=Resources(cpu=-1, memory="much"), colour="red")
        NodePool(id="p", max_nodes=-1)
        Policy(organisation=Organisation(name="acme"), queues=(queue,))
    assert [(fault.declaration, fault.path) for fault in faults] == [
        ("Resources", ("cpu",)),
        ("Resources", ("memory",)),
        ("Queue", ()),
        ("NodePool", ("max_nodes",)),
    ]
    assert {fault.source.file for fault in faults} == {__file__}


def test_parent_is_a_queue_or_an_id() -> None:
    parent = Queue(id="research")
    assert Queue(id="a", parent=parent) == Queue(id="a", parent="research")
