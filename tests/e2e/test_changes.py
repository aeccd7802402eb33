"""A policy changes step by step: each write on the way from one tree to the next is accepted, and the next tree is what stays.

The webhooks of Kueue are live. Of the engines that do not run here, the rules of their webhooks judge each write against
what is stored at that moment.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence

import pytest

from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect

from .kubectl import Kubectl, Object
from .rendered import POLICIES, Identity, Tree, compile_policy, delete, identity, managed, prune, prune_list

pytestmark = pytest.mark.e2e

POLICY = POLICIES / "every-engine"
STATES = ("first", "grown", "shrunk", "moved", "without-ads")
ENGINES = ("ack", "kai", "koordinator", "kueue", "native", "volcano", "yunikorn")

Trees = tuple[Tree, ...]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def history(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Trees]:
    """The trees of each state, compiled one after another as in a repository of rendered trees."""
    folder = tmp_path_factory.mktemp("history")
    shutil.copytree(POLICY, folder / "policy")
    found: dict[str, Trees] = {}
    before = None
    for state in STATES:
        (folder / "policy" / "change.py").write_text(f'STATE = "{state}"\n')
        if before is not None:
            shutil.copytree(folder / before, folder / state)
        found[state] = compile_policy(folder / "policy", folder / state, f"on-{engine}")[f"on-{engine}", "one"]
        before = state
    return found


def test_every_step_of_every_change_is_accepted(
    history: Mapping[str, Trees], cluster_for: Callable[[Trees], Kubectl]
) -> None:
    """Grow, shrink, move a team, delete a team: no write is refused, and each time exactly the new tree is left."""
    state = STATES[0]
    cluster = cluster_for(history[state])
    try:
        for state in STATES:
            for tree in history[state]:
                answer = cluster.apply(tree.files)
                assert (answer.accepted, answer.said) == (True, ""), f"{state}: {answer.said}"
            for tree in reversed(history[state]):
                prune(cluster, tree)
            wanted = {identity(one) for tree in history[state] for one in tree.objects()}
            assert managed(cluster, history[state]) == wanted, state
    finally:
        delete(cluster, *history[state])


def test_the_engine_takes_every_step(engine: str, history: Mapping[str, Trees]) -> None:
    """What the engine's own webhooks would say of each write, given what is stored at that moment: nothing."""
    if engine not in ENGINE_RULES:
        pytest.skip(f"{engine} has no rules of its own")
    stored: dict[Identity, Object] = {}
    for state in STATES:
        for one in (one for tree in history[state] for one in tree.objects()):
            assert refusals(engine, one, tuple(stored.values())) == [], state
            stored[identity(one)] = one
        for doomed in (one for tree in reversed(history[state]) for one in prune_list(tree)):
            del stored[identity(doomed)]
        assert set(stored) == {identity(one) for tree in history[state] for one in tree.objects()}


def refusals(engine: str, one: Object, stored: Sequence[Object]) -> list[str]:
    """Return why an engine would refuse an object, where something is stored already."""
    verdicts = ENGINE_RULES[engine].check((one,), stored)
    return [f"{identity(one)}: {v.field}: {v.message}" for v in verdicts if v.effect is Effect.REJECTED]
