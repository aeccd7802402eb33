"""Searches for victims that cannot succeed and are therefore skipped.

A failed search may change the engine's accounting of shared devices until the end of the cycle, so a later search of the same
cycle may depend on it. Searches are therefore left out only together with all that follow: if none of them can
succeed, whatever the accounting is. `docs/decisions/0017-futile-searches.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_runtime.core.job import Job
from apportion_runtime.core.session import Session

VICTIM_ACTIONS = frozenset(("consolidation", "reclaim", "preempt"))
_INDEPENDENT_ACTIONS = frozenset(("stalegangeviction",))
"""Actions that do not depend on the accounting of nodes and queues."""


def may_find_victims(session: Session, actions: Sequence[str]) -> bool:
    """Return whether any of the remaining actions of a cycle may evict for a pending job.

    True if the reasons of every pending job are recorded, which needs every attempt.
    """
    if not session.reasons.are_brief or not VICTIM_ACTIONS.union(_INDEPENDENT_ACTIONS).issuperset(actions):
        return True
    if not session.active_jobs.pending:
        return False
    session.pending_classes.refresh(session)
    for alike in session.pending_classes.jobs.values():
        # The jobs of a class are tried alike.
        if _may_be_helped(session, next(iter(alike.values())), actions):
            return True
    return False


def _may_be_helped(session: Session, job: Job, actions: Sequence[str]) -> bool:
    if not job.is_ready or (not job.preemptible and "reclaim" not in actions and "preempt" not in actions):
        return False
    tasks = job.tasks_to_allocate(real=False)
    if not tasks:
        return False
    # A search begins with one pod of the job.
    return not job.is_flat or session.predicates.fits_empty_node(tasks[0])
