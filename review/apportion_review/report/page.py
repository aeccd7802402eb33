"""The review as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from apportion_review.diff_text import diff_text
from apportion_review.report.comment import age_text
from apportion_review.report.impact_rows import (
    QuotaRow,
    gpus_text,
    listed,
    quota_rows,
    resource_text,
    share_columns,
    unmanaged_notes,
)
from apportion_review.report.load_text import counts_text, waits_text
from apportion_review.report.verdict import verdict
from apportion_review.review import ClusterReview, LoadComparison, QueueLoad, Review, Rollout
from apportion_review.shares.records import ShareChange
from apportion_review.unknown_clusters import unknown_clusters, why_unknown

_COLUMNS = 100
_MOST_WORKLOADS = 2_000


def review_page(review: Review) -> str:
    """Return the page. Names of the policy and of clusters are escaped, never markup."""
    losses = [(cluster.name, row, gpus_text(row.workload.gpus)) for cluster in review.clusters for row in cluster.worse]
    unknown = unknown_clusters(review.diff, review.clusters)
    return (
        _environment()
        .get_template("review.html.j2")
        .render(
            review=review,
            verdict=verdict(review),
            losses=losses[:_MOST_WORKLOADS],
            n_losses=len(losses),
            unknown=[(c.name, why_unknown(c)) for c in review.clusters if c.name in unknown and why_unknown(c)],
            quotas=list(_quotas(review.clusters)),
            share_titles=[title for title, _ in share_columns(quota_rows(review.clusters))],
            loads=[(c.name, c.load, _loads(c.load)) for c in review.clusters if c.load is not None],
            diff=diff_text(review.diff, lambda _, text: text, _COLUMNS),
            rollouts=_rollouts(review.clusters),
            sources=list(_sources(review.clusters)),
        )
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("apportion_review.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@dataclass(frozen=True, slots=True)
class _Quota:
    """A row of the table of quotas; `before` and `after` are lengths of bars in percent, None without a guarantee."""

    queue: str
    clusters: str
    gpu: str
    guaranteed: str
    limit: str
    shares: tuple[str, ...]
    effect: str
    before: float | None
    after: float | None


def _quotas(clusters: Sequence[ClusterReview]) -> Iterator[_Quota]:
    rows = {(c.name, row.queue, row.resource): row for c in clusters for row in c.shares}
    shown = quota_rows(clusters)
    columns = share_columns(shown)
    largest = max((max(_ends(rows[_key(row)])) for row in shown), default=0)
    for row in shown:
        before, after = _ends(rows[_key(row)])
        names = "all" if len(row.clusters) == len(clusters) else listed(list(row.clusters), 4)
        texts = (row.guaranteed.replace("**", ""), row.limit.replace("**", ""))
        bars = (None, None) if largest == 0 else (100 * before / largest, 100 * after / largest)
        shares = tuple(cell(row).replace("**", "") for _, cell in columns)
        yield _Quota(row.queue, names, resource_text(row.resource), *texts, shares, row.effect, *bars)


def _key(row: QuotaRow) -> tuple[str, str, str]:
    return row.clusters[0], row.queue, row.resource


def _ends(row: ShareChange) -> tuple[int, int]:
    """Return the guarantees before and after; an unset guarantee is drawn as zero."""
    return (row.base and row.base.guaranteed) or 0, (row.head and row.head.guaranteed) or 0


@dataclass(frozen=True, slots=True)
class _Load:
    """A row of a simulation; `before` and `after` are lengths of bars in percent."""

    queue: str
    p50: str
    p90: str
    not_started: str
    evictions: str
    lost: str
    before: float
    after: float


def _loads(load: LoadComparison) -> list[_Load]:
    longest = max((wait.seconds for row in load.rows for wait in row.wait_p90 if wait is not None), default=0)
    return [_load(row, longest) for row in load.rows]


def _load(row: QueueLoad, longest: float) -> _Load:
    bars = [100 * wait.seconds / longest if wait is not None and longest else 0 for wait in row.wait_p90]
    return _Load(
        row.queue or "cluster",
        waits_text(row.wait_p50),
        waits_text(row.wait_p90),
        counts_text(row.n_not_started),
        counts_text(row.evictions),
        f"{row.lost_gpu_s[0] / 3_600_000:,.1f} → {row.lost_gpu_s[1] / 3_600_000:,.1f}",
        bars[0],
        bars[1],
    )


def _rollouts(clusters: Sequence[ClusterReview]) -> list[tuple[list[str], Rollout]]:
    """Return the rollouts with updates, each with the clusters that have it."""
    alike: dict[Rollout, list[str]] = {}
    for cluster in clusters:
        if cluster.rollout is not None and cluster.rollout.steps:
            alike.setdefault(cluster.rollout, []).append(cluster.name)
    return [(names, rollout) for rollout, names in alike.items()]


def _sources(clusters: Sequence[ClusterReview]) -> Iterator[str]:
    for cluster in clusters:
        if cluster.fates is None:
            continue
        info = cluster.snapshot
        age = "of unknown age" if info is None or info.age_s is None else f"{age_text(info.age_s)} old"
        verified = "verified against recorded runs" if cluster.fates.is_verified else cluster.fates.unverified
        notes = " ".join((*unmanaged_notes(cluster.fates), *cluster.fates.notes))
        yield f"{cluster.name}: {cluster.fates.source}, {verified}; snapshot {age}. {notes}"
