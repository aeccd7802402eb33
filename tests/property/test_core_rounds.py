"""Without external changes, a cluster reaches a stable state, or a loop that the real engine has too.

`data/core-loops.json` holds one cluster for each action that is known to undo a cycle's work in the next, why it does,
and what the real engine (d5bc503a) made of it in six rounds.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from apportion_runtime.cases.rounds import run_rounds
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import NAMES

from .core_strategies import Case, cases

pytestmark = pytest.mark.property

MOST_CYCLES = 5
LOOPS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "core-loops.json").read_text(encoding="utf-8")
)


def _decided(session: Session) -> tuple[frozenset[tuple[str, int]], frozenset[tuple[str, str]]]:
    """Return the bindings and the evictions with their actions; pipelined pods have no effect."""
    evictions = frozenset((task.uid, why[0]) for task, _, why in session.decided.evictions if isinstance(why, tuple))
    return frozenset((task.uid, task.node) for task in session.decided.binds), evictions


def _comes_to_rest(case: Case) -> None:
    seen = []
    for session, _ in islice(run_rounds(case), MOST_CYCLES + 4):
        seen.append(_decided(session))
        if seen[-1] == (frozenset(), frozenset()):
            assert len(seen) <= MOST_CYCLES + 1
            return
    evicting = {action for _, evictions in seen[MOST_CYCLES:] for _, action in evictions}
    assert seen[-1] in seen[:-1], "it neither rests nor repeats itself"
    assert evicting, "it binds for ever, and evicts nobody"
    assert evicting <= {loop["action"] for loop in LOOPS}


@given(case=cases())
def test_cluster_is_stable_within_five_cycles(case: Case) -> None:
    """Between two cycles, bound pods start running and evicted ones become pending, as in the engine's own tests."""
    _comes_to_rest(case)


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(case=cases())
def test_many_clusters_are_stable_within_five_cycles(case: Case) -> None:
    _comes_to_rest(case)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop["action"])
def test_eviction_loops_match_recorded_runs_of_kai(loop: dict[str, Any]) -> None:
    rounds = []
    for session, _ in islice(run_rounds(loop["case"]), len(loop["rounds"])):
        tasks = [task for job in session.jobs.values() for task in job.tasks.values()]
        rounds.append({t.uid: [NAMES[t.status], session.nodes.names[t.node] if t.node >= 0 else ""] for t in tasks})
        last = _decided(session)
    assert rounds == loop["rounds"]
    assert loop["action"] in {action for _, action in last[1]}
