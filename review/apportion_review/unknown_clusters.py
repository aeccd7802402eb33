"""The clusters on which a review does not know what a change does to running work."""

from __future__ import annotations

from collections.abc import Sequence

from apportion_compiler.rollout.differences import ObjectChange
from apportion_review.diff_report import DiffReport
from apportion_review.fates.records import Fate
from apportion_review.review import ClusterReview

_ONLY_SHOWN = frozenset(("spec.displayName", "description", "metadata.annotations[apportion.dev/title]"))
# Fields that no engine decides by.


def changed_clusters(diff: DiffReport) -> frozenset[str] | None:
    """Return the clusters on which an engine may decide otherwise; None if objects are not compared.

    An object of which only a title or a description changes does not count.
    """
    if diff.objects is None:
        return None
    return frozenset(
        target.cluster for target in diff.objects if not all(_is_only_shown(change) for change in target.changes)
    )


def _is_only_shown(change: ObjectChange) -> bool:
    paths = {field.path for field in change.fields}
    return bool(paths) and paths <= _ONLY_SHOWN


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


def clusters_text(names: Sequence[str]) -> str:
    """Return one or two names of clusters; of more, how many there are."""
    return " and ".join(names) if len(names) <= 2 else f"{len(names)} clusters"
