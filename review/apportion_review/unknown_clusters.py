"""The clusters for which a review cannot determine the effect of a change on running work."""

from __future__ import annotations

from collections.abc import Sequence

from apportion_compiler.rollout.differences import ObjectChange
from apportion_review.diff_report import DiffReport
from apportion_review.facts import CLUSTER
from apportion_review.fates.records import Fate
from apportion_review.review import ClusterReview

_ONLY_SHOWN = frozenset(("spec.displayName", "description", "metadata.annotations[apportion.dev/title]"))
# Fields that do not affect decisions of engines.


def changed_clusters(diff: DiffReport) -> frozenset[str] | None:
    """Return the clusters on which an engine may decide differently; None if objects are not compared.

    Objects with changes only of a title or a description are ignored. An engine of another version may decide
    differently on the same objects.
    """
    if diff.objects is None:
        return None
    other_versions = (
        change.fact.name
        for change in diff.found.changes
        if change.fact.kind == CLUSTER and change.fact.field == ("engine_version",)
    )
    return frozenset(other_versions) | frozenset(
        target.cluster for target in diff.objects if not all(_is_only_shown(change) for change in target.changes)
    )


def _is_only_shown(change: ObjectChange) -> bool:
    paths = {field.path for field in change.fields}
    return bool(paths) and paths <= _ONLY_SHOWN


def unknown_clusters(diff: DiffReport, clusters: Sequence[ClusterReview]) -> tuple[str, ...]:
    """Return the changed clusters with missing or incomplete fates, or with fates that become unknown."""
    changed = changed_clusters(diff)
    return tuple(
        cluster.name
        for cluster in clusters
        if (changed is None or cluster.name in changed)
        and (
            cluster.fates is None
            or cluster.fates.why_incomplete
            or any(row.is_changed and row.head.fate is Fate.UNKNOWN for row in cluster.fates.rows)
        )
    )


def why_unknown(cluster: ClusterReview) -> str:
    """Return why the fates of a cluster are unknown or incomplete, as a clause; empty if they are neither."""
    if cluster.fates is None:
        return cluster.why_no_fates
    why = cluster.fates.why_incomplete
    return f"pending work may evict more workloads than listed, because {why}" if why else ""


def clusters_text(names: Sequence[str]) -> str:
    """Return the names of up to two clusters, or the number of clusters."""
    return " and ".join(names) if len(names) <= 2 else f"{len(names)} clusters"
