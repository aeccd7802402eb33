"""The review of a change: two checked policies, and the known state of the clusters, as one record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from apportion_review.approvals import approvals
from apportion_review.cluster_reviews import ClusterSnapshot, cluster_reviews
from apportion_review.facts import QUEUE
from apportion_review.finding_changes import fidelity_changes, finding_changes
from apportion_review.gates import Thresholds, gates
from apportion_review.policy_side import PolicySide, diff_report
from apportion_review.review import ClusterReview, LoadComparison, Review
from apportion_review.rollouts import rollout_of


@dataclass(frozen=True)
class ReviewInputs:
    """The inputs of a review besides the two policies.

    Attributes:
        snapshots: Snapshots by cluster, such as `prod/gpu-1`.
        loads: Comparison of a load under both policies, by cluster; a sentence if it cannot be simulated.
        given_approvals: Owners who have approved.
        share_loss: Loss of fair share, in percent, from which the queue's owner must approve.
        thresholds: The gates.
        digests: Digest of each input, `sha256:…`, by name.
        version: Version of apportion.
        command: A command that reproduces the report.
    """

    snapshots: Mapping[str, ClusterSnapshot] = field(default_factory=dict)
    loads: Mapping[str, LoadComparison | str] = field(default_factory=dict)
    given_approvals: Collection[str] = ()
    share_loss: int = 10
    thresholds: Thresholds = field(default_factory=Thresholds)
    digests: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    command: str = ""


def policy_review(base: PolicySide, head: PolicySide, inputs: ReviewInputs) -> Review:
    """Review a change of a policy.

    Args:
        base: The policy in force.
        head: The changed policy.
        inputs: The other inputs.
    """
    diff = diff_report(base, head)
    renamed = {each.before: each.after for each in diff.found.renames if each.kind == QUEUE}
    clusters = tuple(
        _with_load(replace(cluster, rollout=rollout_of(cluster.name, base, head, cluster.fates, renamed)), inputs.loads)
        for cluster in cluster_reviews(base, head, diff.found, inputs.snapshots)
    )
    needed = approvals(
        diff.found, diff.statements, clusters, given=inputs.given_approvals, share_loss=inputs.share_loss
    )
    return Review(
        diff,
        clusters,
        finding_changes(base.checked, head.checked),
        fidelity_changes(base.checked, head.checked),
        needed,
        gates(inputs.thresholds, diff, clusters, needed),
        inputs.digests,
        inputs.version,
        inputs.command,
        broken=tuple((side.name, side.why_not_compiled) for side in (base, head) if side.why_not_compiled),
    )


def _with_load(cluster: ClusterReview, loads: Mapping[str, LoadComparison | str]) -> ClusterReview:
    load = loads.get(cluster.name)
    if isinstance(load, str):
        return replace(cluster, notes=(*cluster.notes, load))
    return replace(cluster, load=load)
