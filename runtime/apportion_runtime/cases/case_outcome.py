"""The result of each round of a case as a document: the node of every pod and the share of every queue."""

from __future__ import annotations

from itertools import islice
from typing import Any

from apportion_runtime.cases.reader import Case
from apportion_runtime.cases.rounds import run_rounds
from apportion_runtime.core.resources import GPU
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import NAMES
from apportion_runtime.core.task import NO_NODE


def default_rounds(case: Case) -> int:
    """Return the number of rounds of a case: those before its first comparison and those after, at least one."""
    asked = int(case.get("rounds_until_match", 0)) + int(case.get("rounds_after_match", 0))
    return max(1, asked)


def rounds_document(case: Case, *, rounds: int | None = None, actions: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return `{"rounds": [{"pods": …, "queues": …}]}`, each round as its session is after the actions.

    Args:
        case: A case, checked.
        rounds: The number of rounds; None uses that of the case.
        actions: The actions of each round; None is the case's.
    """
    wanted = default_rounds(case) if rounds is None else rounds
    return {"rounds": [_round(session) for session, _ in islice(run_rounds(case, actions), wanted)]}


def _round(session: Session) -> dict[str, Any]:
    pods = {
        task.uid: {
            "status": NAMES[task.status],
            "node": session.nodes.names[task.node] if task.node != NO_NODE else "",
        }
        for job in session.jobs.values()
        for task in job.tasks.values()
    }
    shares = {queue.name: {"gpu_fair_share": queue.fair[GPU]} for queue in session.shares.queues.values()}
    return {"pods": dict(sorted(pods.items())), "queues": dict(sorted(shares.items()))}
