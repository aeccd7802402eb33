"""Every decision of the tables can be explained without changing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.cases.rounds import run_rounds
from apportion_runtime.core.explain.evictions import ALLOWED, evictions
from apportion_runtime.core.explain.fair_share import fair_share
from apportion_runtime.core.explain.histogram import ROOM
from apportion_runtime.core.explain.pending import pending_jobs
from apportion_runtime.core.explain.pending_reasons import NoNode
from apportion_runtime.core.session import Session

FILES = sorted(
    path for path in Path(__file__).parent.glob("*.json") if path.name != "INDEX.json" and "benchmark" not in path.name
)


def state(session: Session) -> Any:
    tasks = [task for job in session.jobs.values() for task in job.tasks.values()]
    return (
        session.nodes.idle.tolist(),
        session.nodes.releasing.tolist(),
        [(task.uid, task.status, task.node, task.gpu_groups, task.numa, task.claims) for task in tasks],
        [list(job.fit_errors) for job in session.jobs.values()],
        [(queue.name, list(queue.allocated), list(queue.allocated_np)) for queue in session.shares.queues.values()],
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem.removeprefix("actions__"))
def test_every_decision_is_explained(path: Path) -> None:
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        session, _ = next(run_rounds(case))
        before = state(session)
        for job in pending_jobs(session):
            assert job.reasons, job
            for nodes in (reason.nodes for reason in job.reasons if isinstance(reason, NoNode)):
                assert sum(count.n for count in nodes.counts) == nodes.n_nodes
                assert all(count.reason != ROOM for count in nodes.counts)
        told = list(evictions(session))
        assert len(told) == len(session.decided.evictions)
        assert all(eviction.rule != ALLOWED for eviction in told)
        for name, queue in session.shares.queues.items():
            divisions = fair_share(session, name).levels[-1].divisions
            assert [division.fair for division in divisions] == [queue.fair[2], queue.fair[0], queue.fair[1]]
        assert state(session) == before
