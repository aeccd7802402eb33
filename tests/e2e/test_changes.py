"""A policy changes step by step: each write on the way from one tree to the next is accepted, and the next tree is what stays.

The webhooks of Kueue are live. Of the engines that do not run here, the rules of their webhooks judge each write against
what is stored at that moment.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.registry import ENGINES
from apportion_compiler.engines.volcano.updates import MODEL
from apportion_compiler.rollout.waves import waves

from .admission import wait_until_active
from .compiled_trees import POLICIES, Identity, Tree, compile_policy, delete_unused, identity, managed, prune_list
from .kubectl import Kubectl, Object
from .namespaces import delete_with_empty_namespaces

pytestmark = pytest.mark.e2e

POLICY = POLICIES / "every-engine"
STATES = ("first", "grown", "shrunk", "moved", "without-ads", "first")

Trees = tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Writes:
    """Objects that are applied or deleted in order."""

    action: Literal["apply", "delete"]
    objects: tuple[Object, ...]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def history(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Trees]:
    """The trees of each state, compiled one after another as in a repository of rendered trees."""
    folder = tmp_path_factory.mktemp("history")
    shutil.copytree(POLICY, folder / "policy")
    found: list[Trees] = []
    for number, state in enumerate(STATES):
        (folder / "policy" / "change.py").write_text(f'STATE = "{state}"\n')
        out = folder / str(number)
        if found:
            shutil.copytree(folder / str(number - 1), out)
        found.append(compile_policy(folder / "policy", out, f"on-{engine}")[f"on-{engine}", "one"])
    return found


def test_every_update_is_accepted(
    engine: str, history: Sequence[Trees], cluster_for: Callable[[Trees], Kubectl]
) -> None:
    """No write of any change is rejected, and the result is exactly the new tree."""
    cluster = cluster_for(history[0])
    before: Trees = ()
    try:
        for state, after in zip(STATES, history, strict=True):
            for writes in rollout_of(engine, before, after):
                _write(cluster, writes, state)
            before = after
            assert managed(cluster, after) == {identity(one) for tree in after for one in tree.objects()}, state
            if engine == "kueue":
                wait_until_active(cluster)
    finally:
        delete_unused(cluster, *before)


def test_engine_accepts_every_update(engine: str, history: Sequence[Trees]) -> None:
    """The rules of the engine's webhooks accept each write, given the objects stored before it."""
    stored: dict[Identity, Object] = {}
    before: Trees = ()
    for state, after in zip(STATES, history, strict=True):
        for writes in rollout_of(engine, before, after):
            for one in writes.objects:
                if writes.action == "delete":
                    stored.pop(identity(one), None)
                else:
                    assert refusals(engine, one, tuple(stored.values())) == [], state
                    stored[identity(one)] = one
        before = after
        assert set(stored) == {identity(one) for tree in after for one in tree.objects()}


def rollout_of(engine: str, before: Trees, after: Trees) -> Iterator[Writes]:
    """Yield what is written: the trees in their order, then what they hold no longer in its order.

    Volcano's queues come in the order that its webhook takes.
    """
    for tree in after:
        objects = tuple(tree.objects())
        queues = [one for one in objects if engine == "volcano" and one["kind"] == "Queue"]
        if not queues:
            yield Writes("apply", objects)
            continue
        first = objects.index(queues[0])
        yield Writes("apply", objects[:first])
        former = [one for tree in before for one in tree.objects() if one["kind"] == "Queue"]
        for wave in waves(former, queues, MODEL):
            yield from (Writes("apply", (dict(queue.manifest),)) for queue in wave.applies)
            yield from (Writes("delete", (dict(queue.manifest),)) for queue in wave.deletes)
        yield Writes("apply", tuple(one for one in objects[first:] if one not in queues))
    for tree in reversed(after):
        yield Writes("delete", tuple(prune_list(tree)))


def refusals(engine: str, one: Object, stored: Sequence[Object]) -> list[str]:
    """Return why an engine would reject an object, given the stored ones."""
    verdicts = ENGINE_RULES[engine].check((one,), stored)
    return [f"{identity(one)}: {v.field}: {v.message}" for v in verdicts if v.effect is Effect.REJECTED]


def _write(cluster: Kubectl, writes: Writes, state: str) -> None:
    if writes.action == "delete":
        delete_with_empty_namespaces(cluster, writes.objects)
    elif writes.objects:
        answer = cluster.apply_objects(writes.objects)
        assert answer.accepted, f"{state}: {answer.said}"
        assert answer.said == "", f"{state}: {answer.said}"
