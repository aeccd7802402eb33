"""Kueue's division against its scheduler's arithmetic: workloads of one GPU, admitted one by one as fair sharing orders them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_review.shares.division_records import ClaimInputs, DivisionInputs
from apportion_review.shares.engine_shares import proof_of
from apportion_review.shares.records import Demand
from apportion_runtime.engines.kueue.quota_tree import Node, Quota
from apportion_runtime.engines.kueue.records import Queue
from apportion_runtime.engines.kueue.usage_tree import UsageTree, rank

from .share_trees import division_inputs

pytestmark = pytest.mark.property
GPU = ("flavor", "nvidia.com/gpu")
EXACT = (0, 0.5, 1, 2, 4)
"""Weights by which 64-bit floats divide without rounding; the engine computes ratios."""


def _quota(claim: ClaimInputs) -> dict[tuple[str, str], Quota]:
    nominal, borrowing, lending = (claim.numbers[key] for key in ("nominal", "borrowingLimit", "lendingLimit"))
    return {
        GPU: Quota(
            int(nominal or 0),
            None if borrowing is None else int(borrowing),
            None if lending is None else int(lending),
        )
    }


def _admitted(inputs: DivisionInputs) -> dict[str, int]:
    """Admit workloads of one GPU: each cohort selects the child whose share with the workload is smallest."""
    inner = {claim.parent for claim in inputs.claims}
    cohorts = [
        Node(claim.name, claim.parent, _quota(claim), float(claim.numbers["weight"] or 0), is_cohort=True)
        for claim in inputs.claims
        if claim.name in inner
    ]
    leaves = [claim for claim in inputs.claims if claim.name not in inner]
    prefixed = {claim.name: f"cohort {claim.name}" for claim in inputs.claims if claim.name in inner}
    tree = UsageTree(
        [Queue(c.name, c.parent, quotas=_quota(c), weight=float(c.numbers["weight"] or 0)) for c in leaves],
        [
            Node(
                prefixed[node.name],
                None if node.parent is None else prefixed[node.parent],
                node.quotas,
                node.weight,
                is_cohort=True,
            )
            for node in cohorts
        ],
    )
    waiting = {claim.name: int(claim.numbers["ownRequest"] or 0) for claim in leaves}
    given_to = dict.fromkeys(waiting, 0)

    def best(node: str) -> str | None:
        found: list[tuple[tuple[object, ...], str]] = []
        for child in (*tree.cohorts_in(node), *tree.queues_in(node)):
            queue = best(child) if tree.cohorts_in(node).count(child) else child
            if queue is None or not waiting[queue] or not tree.left(queue, GPU):
                continue
            with tree.with_usage(queue, {GPU: 1}):
                standing = (tree.borrows(child, GPU), rank(tree.share(child)), child.removeprefix("cohort "))
            found.append((standing, queue))
        return min(found)[1] if found else None

    for root in sorted({tree.root(claim.name) for claim in leaves}):
        while True:
            winner = best(root) if root in prefixed.values() else root
            if winner is None or not waiting[winner] or not tree.left(winner, GPU):
                break
            tree.add_usage(winner, {GPU: 1})
            waiting[winner] -= 1
            given_to[winner] += 1
    return given_to


@settings(max_examples=300)
@given(data=st.data())
def test_shares_match_fair_sharing_admission(data: st.DataObject) -> None:
    drawn = data.draw(division_inputs("kueue", 8))
    inner = {claim.parent for claim in drawn.claims}
    claims = tuple(
        ClaimInputs(
            claim.name,
            claim.queue,
            claim.parent,
            {
                **claim.numbers,
                "weight": data.draw(st.sampled_from(EXACT)),
                "ownRequest": 0 if claim.name in inner else claim.numbers["ownRequest"],
            },
        )
        for claim in drawn.claims
    )
    inputs = DivisionInputs("kueue", "gpu", drawn.total, {"fairSharing": 1}, claims)
    shares = {
        claim.name: claim.share
        for division in proof_of("head", Demand.EVERYONE, inputs).divisions
        for claim in division.claims
        if claim.name not in inner
    }
    assert shares == _admitted(inputs)
