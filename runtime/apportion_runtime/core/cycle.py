"""One cycle: what KAI Scheduler would decide about a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apportion_runtime.core.actions.allocate import allocate
from apportion_runtime.core.actions.consolidation import consolidate
from apportion_runtime.core.actions.futile_searches import VICTIM_ACTIONS, may_find_victims
from apportion_runtime.core.actions.preempt import preempt
from apportion_runtime.core.actions.reclaim import reclaim
from apportion_runtime.core.actions.stale_gang_eviction import evict_stale_gangs
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Settings, Snapshot

ACTIONS: Mapping[str, Callable[[Session], None]] = {
    "allocate": allocate,
    "consolidation": consolidate,
    "reclaim": reclaim,
    "preempt": preempt,
    "stalegangeviction": evict_stale_gangs,
}


def cycle(snapshot: Snapshot, settings: Settings = Settings()) -> Session:  # noqa: B008 - frozen.
    """Open a session, run its actions in order, and return it with everything that was decided."""
    # 1. Open the session: nodes with their pods, jobs, and the fair share of every queue.
    return run_actions(Session(snapshot, settings))


def run_actions(session: Session) -> Session:
    """Run the actions of an open session in order."""
    # 2. Allocate free resources; 3. consolidate; 4. reclaim between queues; 5. preempt within queues;
    # 6. evict stale gangs.
    actions = session.settings.actions
    for number, action in enumerate(actions):
        if action not in VICTIM_ACTIONS or may_find_victims(session, actions[number:]):
            ACTIONS[action](session)
    return session
