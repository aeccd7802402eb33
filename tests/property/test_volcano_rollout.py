"""For any two trees of queues, Volcano's webhook accepts each step, and the last step gives the second tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.volcano.emit.resource_lists import counts
from apportion_compiler.engines.volcano.rules import RULES
from apportion_compiler.engines.volcano.rules.hierarchy import refused_deletion
from apportion_compiler.engines.volcano.rules.queue_tree import queue_tree
from apportion_compiler.engines.volcano.updates import MODEL
from apportion_compiler.rollout.waves import waves

from .volcano_trees import Tree, trees

pytestmark = pytest.mark.property


def _queue(name: str, parent: str = "root", gpu: int = 0, limit: int | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"parent": parent, "deserved": {"nvidia.com/gpu": str(gpu)}}
    if limit is not None:
        spec["capability"] = {"nvidia.com/gpu": str(limit)}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def _rejected(tree: Tree, existing: Tree) -> list[str]:
    return [v.message for v in RULES.check(tree, existing) if v.effect is Effect.REJECTED]


SWAPPED = (
    [_queue("a", gpu=4), _queue("b", "a", 4)],
    [_queue("b", gpu=4), _queue("a", "b", 4)],
)
MOVED_WITHOUT_ROOM = (
    [
        _queue("g", gpu=10, limit=10),
        _queue("p", "g", 6),
        _queue("q", "g", 4),
        _queue("c", "p", 4),
        _queue("d", "p", 2),
        _queue("e", "q", 4),
    ],
    [
        _queue("g", gpu=10, limit=10),
        _queue("p", "g", 2),
        _queue("q", "g", 8),
        _queue("c", "q", 4),
        _queue("d", "p", 2),
        _queue("e", "q", 4),
    ],
)


def _writes(former: Tree, wanted: Tree) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield each queue that is written, in order, and whether it is deleted."""
    for wave in waves(former, wanted, MODEL):
        yield from ((dict(queue.manifest), False) for queue in wave.applies)
        yield from ((dict(queue.manifest), True) for queue in wave.deletes)


@given(trees(), trees())
@example(*SWAPPED)
@example(*MOVED_WITHOUT_ROOM)
def test_every_update_is_valid(former: Tree, wanted: Tree) -> None:
    assert _rejected(former, []) == _rejected(wanted, []) == []
    state = {queue["metadata"]["name"]: queue for queue in former}
    promised = {name: counts(queue["spec"]["deserved"]) for name, queue in state.items()}
    shall = {queue["metadata"]["name"]: counts(queue["spec"]["deserved"]) for queue in wanted}
    for queue, is_deleted in _writes(former, wanted):
        name = queue["metadata"]["name"]
        existing = list(state.values())
        if is_deleted:
            assert refused_deletion(name, queue_tree([], existing)) is None
            del state[name]
            continue
        assert _rejected([queue], existing) == [], queue
        state[name] = queue
        has = counts(state[name]["spec"].get("deserved", {}))
        assert all(has.get(r, 0) >= min(amount, shall[name].get(r, 0)) for r, amount in promised.get(name, {}).items())
    assert state == {queue["metadata"]["name"]: queue for queue in wanted}


@given(trees())
def test_unchanged_queues_need_no_update(tree: Tree) -> None:
    assert waves(tree, tree, MODEL) == ()


def test_simple_change_needs_one_update_for_each_queue() -> None:
    former = [_queue("g", gpu=10), _queue("a", "g", 6), _queue("b", "g", 4)]
    wanted = [_queue("g", gpu=12), _queue("a", "g", 4), _queue("b", "g", 8)]
    names = [queue["metadata"]["name"] for queue, _ in _writes(former, wanted)]
    assert sorted(names) == ["a", "b", "g"]
    assert names.index("g") < names.index("b")


def test_queues_of_volcano_itself_are_not_changed() -> None:
    own = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "spec": {}}
    former = [{**own, "metadata": {"name": "root"}}, {**own, "metadata": {"name": "default"}}, _queue("a", gpu=1)]
    assert [(queue["metadata"], is_deleted) for queue, is_deleted in _writes(former, [])] == [({"name": "a"}, True)]
