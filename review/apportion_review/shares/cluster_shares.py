"""The shares of a cluster's queues under both policies and each demand, with the proofs of changed ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.shares.division_records import DivisionInputs, ShareProof
from apportion_review.shares.engine_shares import ENGINE_SHARES, engine_note, has_shares, proof_of
from apportion_review.shares.records import Demand, ShareChange

BASE, HEAD = "base", "head"
SharesByRow = Mapping[tuple[str, str], Mapping[Demand, int]]
"""Shares of each queue and resource by demand, in thousandths of a GPU."""
_NOT_COMPARED = "Shares are compared only if both policies compile for an engine with shares and count the same GPUs."
_FIRST_COME_NOTE = (
    "Fair sharing is disabled in Kueue's configuration: a queue's share is the most that it can use while "
    "all other queues use everything they can reclaim."
)


@dataclass(frozen=True, slots=True)
class ShareSide:
    """A cluster under one policy.

    Attributes:
        engine: Of the cluster; empty if the policy has no such cluster.
        manifests: What the policy compiles to.
        capacities: Of its pools in thousandths of a GPU, by resource; None if a pool does not declare it.
        state: The cluster of the snapshot under the policy; None without a snapshot.
    """

    engine: str
    manifests: Sequence[Manifest]
    capacities: Mapping[str, int | None]
    state: ClusterState | None = None


def division_inputs(side: ShareSide, notes: list[str]) -> Iterator[tuple[Demand, DivisionInputs]]:
    """Yield the inputs of the division for each demand, adding reasons for missing ones to the notes."""
    if not has_shares(side.engine):
        return
    try:
        for inputs in ENGINE_SHARES[side.engine].everyone(side.manifests, side.capacities):
            yield Demand.EVERYONE, inputs
        if side.state is not None:
            for inputs in ENGINE_SHARES[side.engine].snapshot(side.state, tuple(side.capacities)):
                yield Demand.SNAPSHOT, inputs
    except ValueError as wrong:
        notes.append(f"Fair shares are not computed: {wrong}.")


@dataclass(frozen=True, slots=True)
class ClusterShares:
    """The shares of both sides. `notes` are assumptions and omissions, one sentence each."""

    base: tuple[ShareProof, ...]
    head: tuple[ShareProof, ...]
    notes: tuple[str, ...]


def cluster_shares(base: ShareSide, head: ShareSide) -> ClusterShares:
    """Divide a cluster's GPUs under both policies and each demand."""
    notes: list[str] = []
    former, changed = (
        tuple(proof_of(name, demand, inputs) for demand, inputs in division_inputs(side, notes))
        for name, side in ((BASE, base), (HEAD, head))
    )
    if base.engine and head.engine:
        known = [{(proof.demand, proof.inputs.resource) for proof in proofs} for proofs in (former, changed)]
        both = known[0] & known[1]
        if both != known[0] | known[1]:
            notes.append(_NOT_COMPARED)
        former, changed = (
            tuple(proof for proof in proofs if (proof.demand, proof.inputs.resource) in both)
            for proofs in (former, changed)
        )
    shown = dict.fromkeys((proof.demand, proof.inputs.engine) for proof in (*former, *changed))
    for demand, engine in sorted(shown):
        notes.append(ENGINE_SHARES[engine].assumes if demand is Demand.EVERYONE else ENGINE_SHARES[engine].counts)
    notes += [engine_note(engine) for engine in dict.fromkeys((base.engine, head.engine)) if engine_note(engine)]
    if any(proof.inputs.settings.get("fairSharing") == 0 for proof in (*former, *changed)):
        notes.append(_FIRST_COME_NOTE)
    return ClusterShares(former, changed, tuple(dict.fromkeys(notes)))


def by_row(proofs: Sequence[ShareProof]) -> SharesByRow:
    """Return the shares of each queue and resource."""
    found: dict[tuple[str, str], dict[Demand, int]] = {}
    for proof in proofs:
        for queue, share in proof.shares().items():
            found.setdefault((queue, proof.inputs.resource), {})[proof.demand] = share
    return found


def proofs_of_changes(
    shares: ClusterShares, rows: Sequence[ShareChange], base_names: Mapping[str, str]
) -> tuple[ShareProof, ...]:
    """Return the divisions that lead to changed shares, from the cluster down.

    Args:
        shares: Shares of the cluster.
        rows: All rows of the cluster.
        base_names: Ids of renamed queues in the base, by the id in the head.
    """
    changed: dict[tuple[str, Demand], set[str]] = {}
    for row in rows:
        for demand in Demand:
            ends = [None if held is None else held.shares.get(demand) for held in (row.base, row.head)]
            if ends[0] != ends[1]:
                names = {row.queue, base_names.get(row.queue, row.queue)}
                changed.setdefault((row.resource, demand), set()).update(names)
    found: list[ShareProof] = []
    for proof in (*shares.base, *shares.head):
        kept = _leading_to(proof, changed.get((proof.inputs.resource, proof.demand), ()))
        if kept.divisions:
            found.append(kept)
    return tuple(found)


def _leading_to(proof: ShareProof, queues: Collection[str]) -> ShareProof:
    parents = {claim.name: claim.parent for claim in proof.inputs.claims}
    needed: set[str | None] = set()
    for claim in proof.inputs.claims:
        if claim.queue not in queues:
            continue
        at = claim.parent
        while at is not None and at not in needed:
            needed.add(at)
            at = parents.get(at)
        needed.add(None)
    return replace(proof, divisions=tuple(each for each in proof.divisions if each.parent in needed))
