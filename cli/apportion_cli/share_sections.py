"""The shares in an explanation of a queue: those of one cluster, if every queue requests all resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from apportion_compiler.compile import CheckResult
    from apportion_compiler.graph.graph import PolicyGraph
    from apportion_policy.policy import Policy
    from apportion_review.shares.share_explanation import ShareExplanation

_HAS_ERRORS = "Fair shares are not computed: the policy has errors."


@dataclass(frozen=True, slots=True)
class ShareSection:
    """The shares of a queue. `notes` explain missing ones, one sentence each."""

    cluster: str
    explanations: tuple[ShareExplanation, ...]
    notes: tuple[str, ...]


def share_section(checked: CheckResult, graph: PolicyGraph, cluster: str, queue: str, peer: str | None) -> ShareSection:
    """Explain the shares of a queue on a cluster such as `prod/gpu-1`.

    Raises:
        click.UsageError: If the peer is not a sibling of the queue.
    """
    from apportion_compiler.compile import compile_checked
    from apportion_compiler.engines.registry import TRAITS
    from apportion_compiler.errors import UnknownTargetError
    from apportion_compiler.targets import targets_of
    from apportion_review.shares.cluster_shares import HEAD, ShareSide, division_inputs
    from apportion_review.shares.engine_shares import ENGINE_SHARES, NO_SHARES, engine_note, proof_of
    from apportion_review.shares.share_changes import pool_headroom
    from apportion_review.shares.share_explanation import explain_share

    if peer is not None:
        _check_peer(graph, queue, peer)
    if cluster not in checked.programs:
        return ShareSection(cluster, (), (_HAS_ERRORS,))
    engine = checked.programs[cluster].engine
    if engine not in ENGINE_SHARES:
        return ShareSection(
            cluster, (), (NO_SHARES.get(engine, f"Fair shares on {TRAITS[engine].title} are not modelled."),)
        )
    if below := graph.nodes[queue].children:
        children = ", ".join(f"`{child}`" for child in below)
        return ShareSection(cluster, (), (f"`{queue}` divides its share among its children: {children}.",))
    try:
        targets = targets_of(graph.policy)
    except UnknownTargetError as unknown:
        return ShareSection(cluster, (), (f"Fair shares are not computed: {unknown}.",))
    compiled = compile_checked(checked, tuple(target for target in targets if target.scope == cluster))
    if not compiled.outputs:
        return ShareSection(cluster, (), (_HAS_ERRORS,))
    manifests = [made for output in compiled.outputs.values() for made in output.manifests]
    capacities = {row.resource: row.capacity_after for row in pool_headroom(cluster, graph, graph)}
    notes: list[str] = []
    found: list[ShareExplanation] = []
    for demand, inputs in division_inputs(ShareSide(engine, manifests, capacities), notes):
        explained = explain_share(proof_of(HEAD, demand, inputs), queue, peer)
        if explained is not None:
            found.append(explained)
    if not found and not notes:
        notes.append("Fair shares are not computed: the cluster's node pools do not declare how many GPUs they have.")
    if found and engine_note(engine):
        notes.append(engine_note(engine))
    return ShareSection(cluster, tuple(found), tuple(notes))


def _check_peer(graph: PolicyGraph, queue: str, peer: str) -> None:
    parent = graph.nodes[queue].parent
    level = [root.id for root in graph.roots] if parent is None else graph.nodes[parent].children
    siblings = [each for each in level if each != queue]
    if peer in siblings:
        return
    if peer in graph.nodes:
        instead = f"; siblings of {queue}: {', '.join(siblings)}" if siblings else f"; {queue} has no siblings"
        raise click.UsageError(f"{peer} is not a sibling of {queue}{instead}")
    close = get_close_matches(peer, siblings, n=1)
    raise click.UsageError(f"queue {peer} does not exist" + (f"; did you mean {close[0]}?" if close else ""))


def section_lines(section: ShareSection) -> Sequence[str]:
    """Return the section in lines of at most 80 columns."""
    from textwrap import wrap

    overlap = any(explained.proof.inputs.overlaps for explained in section.explanations)
    what = "GPUs that it can use" if overlap else "fair share"
    lines = [f"{what} on {section.cluster}, if every queue requests all resources"]
    lines += (line for explained in section.explanations for line in explained.lines)
    lines += (line for note in section.notes for line in wrap(note, 80, break_long_words=False))
    return lines


def share_hint(policy: Policy) -> Sequence[str]:
    """Return how to get the section for a queue as written, in lines of at most 80 columns; nothing without a cluster."""
    from textwrap import wrap

    environments = [each for each in policy.environments if each.clusters]
    if not environments:
        return ()
    first = environments[0]
    cluster = f" --cluster {first.clusters[0].name}" if len(first.clusters) > 1 else ""
    others = [each.name for each in environments[1:]]
    instead = f" (or {', '.join(others[:3])})" if others else ""
    return wrap(
        f"The queue's fair share depends on the cluster: add `--env {first.name}{cluster}`{instead} to see how it is computed.",
        80,
        break_long_words=False,
        break_on_hyphens=False,
    )


def section_document(section: ShareSection) -> dict[str, object]:
    """Return the section as JSON, with the divisions in the form of a review's proofs."""
    from apportion_review.shares.division_document import proof_document

    shares: list[dict[str, object]] = []
    for explained in section.explanations:
        proof = proof_document(explained.proof)
        del proof["side"]
        shares.append({**proof, "comparison": explained.comparison})
    return {"cluster": section.cluster, "divisions": shares, "notes": list(section.notes)}
