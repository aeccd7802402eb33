"""The share proofs of a report, checked against the two policies and the snapshots that it is based on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from apportion_compiler.plain_objects import items, mapping
from apportion_review.cluster_reviews import ClusterSnapshot, share_sides, states_of
from apportion_review.differences import differences
from apportion_review.facts import QUEUE
from apportion_review.policy_side import PolicySide
from apportion_review.shares.cluster_shares import BASE, HEAD, division_inputs
from apportion_review.shares.division_document import MalformedProofError
from apportion_review.shares.division_records import THOUSANDTHS, DivisionInputs
from apportion_review.shares.proof_check import ProofKey, proof_faults, proof_key
from apportion_review.shares.records import Demand
from apportion_review.shares.share_changes import pool_headroom

_Shares = dict[tuple[ProofKey, str], int]


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """The result of a check.

    Attributes:
        faults: One sentence for each invalid proof or share.
        n_divisions: Number of checked divisions.
        n_unproven: Number of shares that are equal on both sides, for which reports have no proof.
    """

    faults: tuple[str, ...]
    n_divisions: int
    n_unproven: int


def check_shares(
    report: Mapping[str, object], base: PolicySide, head: PolicySide, snapshots: Mapping[str, ClusterSnapshot]
) -> ShareCheck:
    """Check every changed share of a report, and the steps that lead to it.

    Objects and requests are parsed by the same code as for the review.

    Args:
        report: The review as JSON.
        base: The former policy.
        head: The changed policy.
        snapshots: Snapshots by cluster.
    """
    faults: list[str] = []
    n_divisions = n_unproven = 0
    renames = differences(base.facts, head.facts).renames
    names = {rename.after: rename.before for rename in renames if rename.kind == QUEUE}
    for document in items(report, "clusters"):
        cluster = mapping(document)
        name = str(cluster.get("name"))
        inputs = _inputs(name, base, head, snapshots.get(name))
        proven: _Shares = {}
        for proof in items(cluster, "shareProofs"):
            found = list(_check_proof(proof, inputs))
            faults += (f"{name}: {fault}" for fault in found)
            n_divisions += len(items(proof, "divisions"))
            if not found:
                proven |= _proven(mapping(proof))
        found, unproven = _check_rows(items(cluster, "shares"), proven, names)
        faults += (f"{name}: {fault}" for fault in found)
        n_unproven += unproven
    return ShareCheck(tuple(faults), n_divisions, n_unproven)


def _inputs(
    name: str, base: PolicySide, head: PolicySide, snapshot: ClusterSnapshot | None
) -> Mapping[ProofKey, DivisionInputs]:
    headroom = pool_headroom(name, base.checked.graph, head.checked.graph)
    states = states_of(name, base, head, snapshot)
    return {
        (side_name, demand.value, inputs.resource): inputs
        for side_name, side in zip((BASE, HEAD), share_sides(name, base, head, headroom, states), strict=True)
        for demand, inputs in division_inputs(side, [])
    }


def _check_proof(proof: object, inputs: Mapping[ProofKey, DivisionInputs]) -> Iterator[str]:
    try:
        key = proof_key(proof)
    except MalformedProofError as malformed:
        yield f"{malformed}."
        return
    if key not in inputs:
        yield f"{key[2]} of {key[0]}, {key[1]}: the policy has no such shares."
        return
    yield from proof_faults(mapping(proof), inputs[key])


def _proven(proof: Mapping[str, object]) -> _Shares:
    return {
        (proof_key(proof), str(mapping(claim)["queue"])): round(cast("float", mapping(claim)["share"]) * THOUSANDTHS)
        for division in items(proof, "divisions")
        for claim in items(division, "claims")
    }


def _check_rows(rows: Sequence[object], proven: _Shares, names: Mapping[str, str]) -> tuple[list[str], int]:
    """Return the faults of the shares of rows, and the number of shares that are equal on both sides and not proven."""
    faults: list[str] = []
    n_unproven = 0
    for each in rows:
        row = mapping(each)
        queue, resource = str(row.get("queue")), str(row.get("resource"))
        for demand in Demand:
            ends = {side: mapping(row, side, "shares").get(demand.value) for side in (BASE, HEAD)}
            for side, share in ends.items():
                if share is None:
                    continue
                known = proven.get(((side, demand.value, resource), names.get(queue, queue) if side == BASE else queue))
                where = f"queue {queue}, {resource} of {side}, {demand.value}"
                if known is None and ends[BASE] != ends[HEAD]:
                    faults.append(f"{where}: the share {share} has no proof.")
                elif known is None:
                    n_unproven += 1
                elif known != share or isinstance(share, bool):
                    faults.append(f"{where}: the share is {share}, but its proof yields {known}.")
    return faults, n_unproven
