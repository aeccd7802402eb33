"""Fits of random clusters: sizes up to the largest start, and each proposed change is the smallest that suffices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.unit.review.fit_clusters import (
    AS_OF,
    SIMULATED,
    START,
    bound,
    compiled,
    fit,
    job,
    model_of,
    policy_for,
    snapshot,
)

from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import has_errors
from apportion_policy.policy import Policy
from apportion_review.fit.clusters import ObservedCluster
from apportion_review.fit.probe import Probe
from apportion_review.fit.quota_edits import QuotaEdit, edited
from apportion_review.fit.records import Change, ChangeKind, Outcome
from apportion_review.fit.scaling import dimension_of, scaled

pytestmark = pytest.mark.property

Made = dict[str, Any]
_JOBS = st.tuples(st.sampled_from(("speech", "vision")), st.integers(1, 3), st.sampled_from((1, 2, 4, 8)))


def _nodes(held: list[Made], n_more: int) -> list[Made]:
    like = next(made for made in held if made["kind"] == "Node")
    return [{**like, "metadata": {**like["metadata"], "name": f"h100-9{n:03}"}} for n in range(n_more)]


_REQUESTS = st.lists(_JOBS, max_size=5)


@pytest.mark.parametrize("engine", SIMULATED)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(running=_REQUESTS, asked=_JOBS)
# Pending work takes the additional nodes, on YuniKorn in another order than without them.
@example(
    running=[("speech", 1, 1), ("vision", 1, 8), ("vision", 2, 8), ("speech", 1, 8), ("vision", 1, 1)],
    asked=("speech", 1, 8),
)
# With an additional node, pending work starts there instead of evicting other work.
@example(
    running=[("speech", 1, 4), ("speech", 1, 4), ("vision", 2, 1), ("vision", 3, 8), ("speech", 2, 4)],
    asked=("speech", 1, 4),
)
# On Koordinator, each further attempt of a pending gang changes what it is nominated to.
@example(
    running=[("speech", 1, 1), ("speech", 1, 4), ("speech", 3, 8), ("speech", 3, 8), ("speech", 1, 4)],
    asked=("vision", 3, 8),
)
def test_proposed_changes_let_the_workload_start(
    engine: str, running: list[tuple[str, int, int]], asked: tuple[str, int, int]
) -> None:
    _check_claims(engine, policy_for(engine), running, asked)


@pytest.mark.slow
@pytest.mark.parametrize("engine", SIMULATED)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    running=_REQUESTS,
    asked=_JOBS,
    nodes=st.integers(1, 4),
    guaranteed_per_node=st.sampled_from((1, 2, 3, 4)),
    more=st.sampled_from((0, 2, 8)),
)
def test_proposed_changes_of_random_quotas_are_the_smallest(
    engine: str,
    running: list[tuple[str, int, int]],
    asked: tuple[str, int, int],
    nodes: int,
    guaranteed_per_node: int,
    more: int,
) -> None:
    guaranteed = guaranteed_per_node * nodes
    policy = policy_for(engine, nodes=nodes, guaranteed=guaranteed, limit=guaranteed + more)
    _check_claims(engine, policy, running, asked, nodes=nodes)


def _check_claims(
    engine: str,
    policy: Policy,
    running: list[tuple[str, int, int]],
    asked: tuple[str, int, int],
    *,
    nodes: int = 4,
) -> None:
    """Decide each claim of an answer separately, and that one unit less does not suffice."""
    cluster = compiled(policy)
    held = snapshot(cluster, [bound(cluster, job(f"w{n}", *each)) for n, each in enumerate(running)], nodes=nodes)
    workload = bound(cluster, job("new", *asked))
    found = fit(policy, workload, held)
    if found.size is not None:
        dimension = dimension_of(workload)
        assert dimension is not None
        sizes = range(1, min(found.size.largest + 1, dimension.value) + 1)
        starts = [_outcome(policy, dict(scaled(workload, dimension, count)), held) is Outcome.NOW for count in sizes]
        assert starts == [count <= found.size.largest for count in sizes]
    for change in found.changes:
        wanted = Outcome.AFTER_EVICTIONS if change.n_evicted else Outcome.NOW
        if change.kind is ChangeKind.NODES:
            n_more = int(change.after) - int(change.before)
            assert _outcome(policy, workload, [*held, *_nodes(held, n_more)]) is wanted
            if n_more > 1:
                assert _outcome(policy, workload, [*held, *_nodes(held, n_more - 1)]) is not wanted
        elif change.kind is ChangeKind.QUOTA:
            edits = _edits(change)
            assert _outcome(edited(policy, edits), workload, held) is wanted
            for index, edit in enumerate(edits):
                lower = replace(edit, amount=edit.amount - 1000)
                smaller = edited(policy, [*edits[:index], lower, *edits[index + 1 :]])
                assert not _is_valid(smaller) or _outcome(smaller, workload, held) is not wanted


def _outcome(policy: Policy, workload: Made, held: list[Made]) -> Outcome:
    """Return the decision of the engine alone, without proposals."""
    cluster = compiled(policy)
    observed = ObservedCluster(cluster, model_of(cluster.program.engine), held, (), START + 60)
    return Probe(observed.build).decide(workload).outcome


def _is_valid(policy: Policy) -> bool:
    return not has_errors(check_policy(policy, AS_OF).diagnostics)


def _edits(change: Change) -> list[QuotaEdit]:
    """Return the edits of a proposed change, parsed from its text."""
    found = [QuotaEdit(change.subject, change.field, "gpu", _thousandths(change.after))]
    for clause in change.beside:
        field, _, queue, _, count, *_ = clause.split()
        found.append(QuotaEdit(queue, field, "gpu", _thousandths(count)))
    return found


def _thousandths(amount: str) -> int:
    return 1000 * int(amount.split(maxsplit=1)[0])
