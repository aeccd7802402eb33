"""The folded sections of the comment: title and complete lines of Markdown, each with a separate size budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from apportion_api.counted_nouns import counted
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_review.fates.records import Fate
from apportion_review.report.impact_rows import (
    gpus_text,
    headroom_rows,
    quota_rows,
    resource_text,
    share_columns,
    unmanaged_notes,
)
from apportion_review.report.load_text import counts_text, waits_text
from apportion_review.report.markdown import code, prose, shortened, table
from apportion_review.review import LoadComparison, Review, Rollout, RolloutStep
from apportion_review.value_text import bare

_BYTES = 8_000
_HEADROOM = ("cluster", "resource", "capacity", "with one node down", "guaranteed")
Fold = tuple[str, list[str]]


def folds(review: Review) -> Iterator[Fold]:
    """Yield the non-empty sections, most useful first."""
    for fold in (_fates(review), _quotas(review), _findings(review), _rollout(review), _load(review)):
        if fold is not None:
            yield fold
    for fold in (_headroom(review), _fidelity(review), _approvals(review), _assumptions(review)):
        if fold is not None:
            yield fold


def _limited(heading: tuple[str, ...], rows: list[list[str]], what: str) -> list[str]:
    lines = table(heading, rows)
    return [*lines[:2], *shortened(lines[2:], _BYTES, what)]


def _fates(review: Review) -> Fold | None:
    rows = [
        [
            code(row.workload.key),
            prose(cluster.name),
            code(row.workload.queue),
            prose(gpus_text(row.workload.gpus)),
            f"{row.base.fate.value} → **{row.head.fate.value}**",
            prose(row.head.rule),
        ]
        for cluster in review.clusters
        if cluster.fates is not None
        for row in sorted(cluster.fates.rows, key=lambda row: -row.head.fate.severity)
        if row.is_changed or row.head.fate is Fate.UNKNOWN
    ]
    if not rows:
        return None
    heading = ("workload", "cluster", "queue", "GPUs", "outcome", "rule")
    return f"Changed or unknown outcomes: {counted(len(rows), 'workload')}", _limited(heading, rows, "workloads")


def _quotas(review: Review) -> Fold | None:
    found = quota_rows(review.clusters)
    if len(found) <= 5:
        return None
    shares = share_columns(found)
    rows = [
        [
            code(row.queue),
            prose(", ".join(row.clusters)),
            prose(resource_text(row.resource)),
            row.guaranteed,
            row.limit,
            *(cell(row) for _, cell in shares),
            row.effect,
        ]
        for row in found
    ]
    heading = ("queue", "clusters", "GPU", "guaranteed", "limit", *(title for title, _ in shares), "")
    return f"Quotas: {counted(len(rows), 'row')}", _limited(heading, rows, "rows")


def _findings(review: Review) -> Fold | None:
    found = review.findings
    if not found.appeared and not found.resolved:
        return None
    lines = [f"* new: {line}" for line in _counted(found.appeared)]
    lines += [f"* resolved: {line}" for line in _counted(found.resolved)]
    title = f"Findings: {len(found.appeared)} new, {len(found.resolved)} resolved, {found.n_unchanged} unchanged"
    return title, shortened(lines, _BYTES, "findings")


def _counted(found: Sequence[Diagnostic]) -> Iterator[str]:
    """Yield each finding once, with the number of clusters on which it occurs."""
    counts = Counter(map(_finding, found))
    for line, n in counts.items():
        yield line if n == 1 else f"{line} ({n} times)"


def _finding(found: Diagnostic) -> str:
    at = f"{found.at.file}:{found.at.line}" if found.at.line else found.at.file
    waived = ", waived" if found.suppression is not None else ""
    return f"{code(found.code)} {found.effective_severity.value}{waived} at {code(at)}: {prose(found.message)}"


def _rollout(review: Review) -> Fold | None:
    alike: dict[Rollout, list[str]] = {}
    for cluster in review.clusters:
        if cluster.rollout is not None and cluster.rollout.steps:
            alike.setdefault(cluster.rollout, []).append(cluster.name)
    lines: list[str] = []
    for rollout, names in alike.items():
        lines += [f"**{prose(', '.join(names))}**", ""]
        lines += [f"* ⚠ {prose(warning)}" for warning in rollout.warnings]
        lines += [_step(number, step) for number, step in enumerate(rollout.steps, 1)]
        lines += [
            "",
            f"Undo: revert the commit; {code('apportion up')} then applies {counted(len(rollout.undo), 'update')}.",
        ]
        lines += [""]
    if not lines:
        return None
    n = sum(len(cluster.rollout.steps) for cluster in review.clusters if cluster.rollout is not None)
    valid = ", each valid on its own" if n > 1 else ""
    return f"Rollout: {counted(n, 'update')}{valid}", shortened(lines, _BYTES, "lines")


def _step(number: int, step: RolloutStep) -> str:
    drains = f"drain {prose('; '.join(step.drains))}; then " if step.drains else ""
    actions = "; ".join(step.actions[:12]) + (f" and {len(step.actions) - 12} more" if len(step.actions) > 12 else "")
    return f"{number}. {drains}{prose(actions)}"


def _load(review: Review) -> Fold | None:
    lines: list[str] = []
    for cluster in review.clusters:
        if cluster.load is not None:
            lines += [f"**{prose(cluster.name)}**, {prose(cluster.load.load)}. {prose(cluster.load.assumption)}", ""]
            lines += [*_load_table(cluster.load), ""]
    return ("Simulated load before and after the change", shortened(lines, _BYTES, "lines")) if lines else None


def _load_table(load: LoadComparison) -> list[str]:
    rows = [
        [
            code(row.queue) if row.queue else "cluster",
            waits_text(row.wait_p50),
            waits_text(row.wait_p90),
            counts_text(row.n_not_started),
            counts_text(row.evictions),
            f"{row.lost_gpu_s[0] / 3_600_000:,.1f} → {row.lost_gpu_s[1] / 3_600_000:,.1f}",
        ]
        for row in load.rows
    ]
    heading = ("queue", "wait p50", "wait p90", "not started", "evictions", "GPU-hours lost")
    return [*table(heading, rows), "", f"{counted(load.n_unchanged, 'queue')} unchanged."]


def _headroom(review: Review) -> Fold | None:
    rows = [
        [
            prose(cluster.name),
            prose(resource_text(row.resource)),
            _ends(row.resource, row.capacity_before, row.capacity_after),
            _ends(row.resource, row.one_node_down_before, row.one_node_down_after),
            _ends(row.resource, row.guaranteed_before, row.guaranteed_after),
        ]
        for cluster in review.clusters
        for row in headroom_rows(cluster)
    ]
    if not rows:
        return None
    return "Capacity and guarantees", _limited(_HEADROOM, rows, "rows")


def _ends(resource: str, before: int | None, after: int | None) -> str:
    first, second = ("not declared" if each is None else bare(resource, each) for each in (before, after))
    return first if first == second else f"{first} → **{second}**"


def _fidelity(review: Review) -> Fold | None:
    lines = [
        f"* {prose(each.cluster)} ({prose(each.engine)}), {prose(each.field)}: "
        f"{prose(each.before or 'not used')} → {prose(each.after or 'not used')}"
        for each in review.fidelity
    ]
    if not lines:
        return None
    return f"Fidelity: {counted(len(lines), 'change')}", shortened(lines, _BYTES, "changes")


def _approvals(review: Review) -> Fold | None:
    lines = [f"* {code(each.owner)}: {prose('; '.join(each.reasons))}" for each in review.approvals]
    return ("Required approvals", shortened(lines, _BYTES, "owners")) if lines else None


def _assumptions(review: Review) -> Fold | None:
    notes = dict.fromkeys(
        note
        for cluster in review.clusters
        for note in (
            *unmanaged_notes(cluster.fates),
            *cluster.notes,
            *(() if cluster.fates is None else cluster.fates.notes),
        )
    )
    lines = [f"* {prose(note)}" for note in notes]
    return ("Assumptions", shortened(lines, _BYTES, "notes")) if lines else None
