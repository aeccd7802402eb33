"""The clusters on which a review does not know what a change does to running work."""

from __future__ import annotations

from collections.abc import Sequence

from apportion_review.diff_report import DiffReport
from apportion_review.fates.records import Fate
from apportion_review.review import ClusterReview


def changed_clusters(diff: DiffReport) -> frozenset[str] | None:
    """Return the clusters with objects that change; None if objects are not compared, so that any may change."""
    return None if diff.objects is None else frozenset(target.cluster for target in diff.objects)


def unknown_clusters(diff: DiffReport, clusters: Sequence[ClusterReview]) -> tuple[str, ...]:
    """Return the clusters that change and have no fates, or on which a fate gets unknown by the change."""
    changed = changed_clusters(diff)
    return tuple(
        cluster.name
        for cluster in clusters
        if (changed is None or cluster.name in changed)
        and (
            cluster.fates is None or any(row.is_changed and row.head.fate is Fate.UNKNOWN for row in cluster.fates.rows)
        )
    )
