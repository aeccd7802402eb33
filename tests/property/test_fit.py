"""Fits of random clusters: sizes below the largest start, and a proposed change makes the workload start."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.review.fit_clusters import SIMULATED, bound, compiled, fit, job, policy_for, snapshot

from apportion_review.fit.quota_edits import QuotaEdit, edited
from apportion_review.fit.records import Change, ChangeKind, Outcome
from apportion_review.fit.scaling import dimension_of, scaled

pytestmark = pytest.mark.property

Made = dict[str, Any]
_JOBS = st.tuples(st.sampled_from(("speech", "vision")), st.integers(1, 3), st.sampled_from((1, 2, 4, 8)))


def _nodes(held: list[Made], n_more: int) -> list[Made]:
    like = next(made for made in held if made["kind"] == "Node")
    return [{**like, "metadata": {**like["metadata"], "name": f"h100-9{n:03}"}} for n in range(n_more)]


@pytest.mark.parametrize("engine", SIMULATED)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(running=st.lists(_JOBS, max_size=5), asked=_JOBS)
def test_proposed_changes_let_the_workload_start(
    engine: str, running: list[tuple[str, int, int]], asked: tuple[str, int, int]
) -> None:
    policy = policy_for(engine)
    cluster = compiled(policy)
    held = snapshot(cluster, [bound(cluster, job(f"w{n}", *each)) for n, each in enumerate(running)])
    workload = bound(cluster, job("new", *asked))
    found = fit(policy, workload, held)
    if found.size is not None:
        dimension = dimension_of(workload)
        assert dimension is not None
        for count in range(1, found.size.largest + 1):
            smaller = dict(scaled(workload, dimension, count))
            assert fit(policy, smaller, held).decision.outcome is Outcome.NOW
    for change in found.changes:
        wanted = Outcome.AFTER_EVICTIONS if change.n_evicted else Outcome.NOW
        if change.kind is ChangeKind.NODES:
            more = _nodes(held, int(change.after) - int(change.before))
            assert fit(policy, workload, [*held, *more]).decision.outcome is wanted
        elif change.kind is ChangeKind.QUOTA:
            raised = edited(policy, _edits(change))
            assert fit(raised, workload, held).decision.outcome is wanted


def _edits(change: Change) -> list[QuotaEdit]:
    """Return the edits of a proposed change, parsed from its text."""
    found = [QuotaEdit(change.subject, change.field, "gpu", _thousandths(change.after))]
    for clause in change.beside:
        field, _, queue, _, count, *_ = clause.split()
        found.append(QuotaEdit(queue, field, "gpu", _thousandths(count)))
    return found


def _thousandths(amount: str) -> int:
    return 1000 * int(amount.split(maxsplit=1)[0])
