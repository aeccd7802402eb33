"""For any two trees, each update can be continued, and the engine accepts every order that an update permits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.volcano.rules.hierarchy import refused_deletion
from apportion_compiler.engines.volcano.rules.queue_tree import queue_tree
from apportion_compiler.rollout.identity import Identity, identity_of
from apportion_compiler.rollout.plan import Update, plan_target

from .rollout_trees import Tree, queue_trees, quota_trees
from .volcano_trees import trees as volcano_trees

pytestmark = pytest.mark.property

PAIRS = st.one_of(
    *(
        st.tuples(st.just(engine), made, made)
        for engine, made in (("volcano", volcano_trees()), ("koordinator", quota_trees()), ("kai", queue_trees()))
    )
)
Held = dict[Identity, dict[str, Any]]


def _held(objects: Sequence[Mapping[str, Any]]) -> Held:
    return {identity_of(m): dict(m) for m in objects}


def _refused(engine: str, one: dict[str, Any], stored: Held) -> list[str]:
    """Return the rejections of a write, and for KAI queues that are dropped because their parent is missing."""
    others = [m for key, m in stored.items() if key != identity_of(one)]
    existing = list(stored.values())
    found = [v.message for v in ENGINE_RULES[engine].check((one,), existing) if v.effect is Effect.REJECTED]
    if engine == "kai":
        names = {m["metadata"]["name"] for m in others}
        parent = one["spec"].get("parentQueue")
        found += [f"{parent} is missing"] if parent is not None and parent not in names else []
    return found


def _refused_deletion(engine: str, key: Identity, stored: Held) -> str | None:
    if engine == "volcano":
        return refused_deletion(key.name, queue_tree([], list(stored.values())))
    if engine == "koordinator":
        below = [
            m for m in stored.values() if m["metadata"]["labels"]["quota.scheduling.koordinator.sh/parent"] == key.name
        ]
    else:
        below = [m for m in stored.values() if m["spec"].get("parentQueue") == key.name]
    return f"{key.name} has children" if below else None


def _some_order(draw: st.DrawFn, update: Update) -> list[Identity]:
    """Draw an order of writes that respects `waits`."""
    left = [identity_of(m) for m in update.objects]
    done: list[Identity] = []
    while left:
        free = [key for key in left if update.waits.get(key, frozenset()) <= set(done)]
        assert free, "the objects wait for each other in a circle"
        chosen = draw(st.sampled_from(free))
        left.remove(chosen)
        done.append(chosen)
    return done


def _run(draw: st.DrawFn, engine: str, stored: Held, update: Update, last: Update | None) -> None:
    """Apply an update as a tool with a dependency graph does, and check each step."""
    wanted = _held(update.objects)
    gone = stored.keys() - wanted.keys()
    for key in _some_order(draw, update):
        if stored.get(key) != wanted[key]:
            assert _refused(engine, wanted[key], stored) == [], (key, wanted[key])
            stored[key] = wanted[key]
    waits = last.waits if last is not None else {}
    while gone:
        # Dependents are deleted before their dependencies.
        free = [key for key in sorted(gone) if not any(key in waits.get(other, ()) for other in gone if other != key)]
        chosen = draw(st.sampled_from(free))
        assert _refused_deletion(engine, chosen, stored) is None
        del stored[chosen]
        gone.discard(chosen)


@given(st.data(), PAIRS)
def test_every_update_is_valid_in_any_order(data: st.DataObject, pair: tuple[str, Tree, Tree]) -> None:
    engine, former, wanted = pair
    stored: Held = {}
    (update,) = plan_target(engine, (), former)
    _run(data.draw, engine, stored, update, None)
    last = update
    for update in plan_target(engine, former, wanted):
        _run(data.draw, engine, stored, update, last)
        last = update
    assert stored == _held(wanted)


@given(PAIRS)
def test_rollout_converges_if_planned_again(pair: tuple[str, Tree, Tree]) -> None:
    """Planning again after the first update reaches the target, so an interrupted rollout can be resumed."""
    engine, former, wanted = pair
    held: Sequence[Mapping[str, Any]] = former
    settled = True
    for _ in range(8):
        first, *others = plan_target(engine, held, wanted, was_settled=settled)
        held, settled = first.objects, first.is_settled
        if not others:
            break
    assert _held(held) == _held(wanted)


@given(st.data(), PAIRS)
def test_renamed_queue_is_created_before_deletion(data: st.DataObject, pair: tuple[str, Tree, Tree]) -> None:
    """Workloads can be submitted at any time: every deletion follows the creation of the wanted objects."""
    engine, former, _ = pair
    if not former:
        return
    old = data.draw(st.sampled_from([str(m["metadata"]["name"]) for m in former]))
    wanted = _renamed(former, old, "new")
    names, goal = {m["metadata"]["name"] for m in former}, {m["metadata"]["name"] for m in wanted}
    for update in plan_target(engine, former, wanted):
        held = {m["metadata"]["name"] for m in update.objects}
        # An update is written before anything is deleted.
        assert held >= goal or held >= names, (names - held, goal - held)
        names = held
    assert names == goal


def _renamed(tree: Tree, old: str, new: str) -> Tree:
    """Return the tree with one queue renamed; its name occurs only as that of a queue or a parent."""
    text = json.dumps(tree)
    for key in ("name", "parent", "parentQueue", "quota.scheduling.koordinator.sh/parent"):
        text = text.replace(f'"{key}": "{old}"', f'"{key}": "{new}"')
    made: Tree = json.loads(text)
    return made


@given(PAIRS)
def test_unchanged_target_needs_one_settled_update(pair: tuple[str, Tree, Tree]) -> None:
    engine, tree, _ = pair
    (update,) = plan_target(engine, tree, tree)
    assert update.is_settled
    assert list(update.objects) == tree
