"""The review for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

from apportion_api.counted_nouns import counted
from apportion_compiler.engines.registry import TRAITS
from apportion_review.diff_text import diff_text
from apportion_review.fates.records import Fate
from apportion_review.gates import gpu_hours_text, lost_gpu_s, lost_work
from apportion_review.report.comment import age_text
from apportion_review.report.impact_rows import (
    fate_groups,
    gpus_text,
    headroom_rows,
    listed,
    quota_rows,
    resource_text,
    share_columns,
    unmanaged_notes,
)
from apportion_review.report.load_text import counts_text, waits_text
from apportion_review.report.verdict import Level, verdict
from apportion_review.review import ClusterReview, Review
from apportion_review.value_text import amount

Style = Callable[[str, str], str]
_MAX_NAMES = 20


def review_text(review: Review, style: Style, width: int) -> str:
    """Return the review as text.

    Args:
        review: The review.
        style: Returns a text styled for a role.
        width: Width in columns.
    """
    found = verdict(review)
    role = "added" if found.level is Level.NONE else "error"
    blocks = [[style(role, line) for line in _wrapped(found.headline, "", width)]]
    blocks.append(diff_text(review.diff, style, width).rstrip("\n").split("\n"))
    alike: dict[tuple[str, ...], list[str]] = {}
    for cluster in review.clusters:
        alike.setdefault(tuple(_cluster(cluster, width)), []).append(f"{cluster.name} ({TRAITS[cluster.engine].title})")
    for lines, names in alike.items():
        blocks.append([style("heading", line) for line in _wrapped(", ".join(names), "", width)] + list(lines))
    blocks += [
        [style("heading", title), *lines]
        for title, lines in (
            ("Findings", list(_findings(review, width))),
            ("Fidelity", list(_fidelity(review, width))),
            ("Approvals", list(_approvals(review, width))),
            ("Gates", list(_gates(review, width))),
        )
        if lines
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=" " * (len(indent) + 2 if indent else 0),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cluster(cluster: ClusterReview, width: int) -> Iterator[str]:
    for row in quota_rows((cluster,)):
        cells = [
            f"{label} {cell.replace('**', '')}"
            for label, cell in (
                ("guaranteed", row.guaranteed),
                ("limit", row.limit),
                *((title, cell(row)) for title, cell in share_columns((row,))),
            )
            if cell != "-"
        ]
        yield from _wrapped(f"{row.queue} {resource_text(row.resource)}: {', '.join(cells)}; {row.effect}", "  ", width)
    for held in headroom_rows(cluster):
        capacity, down, guaranteed = (
            " → ".join(dict.fromkeys("not declared" if each is None else amount(held.resource, each) for each in ends))
            for ends in (
                (held.capacity_before, held.capacity_after),
                (held.one_node_down_before, held.one_node_down_after),
                (held.guaranteed_before, held.guaranteed_after),
            )
        )
        sentence = f"pools: {capacity}, {down} with one node down, {guaranteed} guaranteed"
        yield from _wrapped(sentence, "  ", width)
    for group in fate_groups((cluster,)):
        names = listed([row.workload.name for row in group.rows], _MAX_NAMES)
        beneficiary = f" (for {group.beneficiary})" if group.beneficiary else ""
        sentence = f"{group.fate.value}: {names} in {group.queue}, {gpus_text(group.gpus)}: {group.rule}{beneficiary}"
        yield from _wrapped(sentence, "  ", width)
    if lost_work(cluster):
        stake = lost_gpu_s(cluster)
        text = "unknown, because a start time is missing" if stake is None else gpu_hours_text(stake)
        yield from _wrapped(f"work at risk, assuming no checkpoints: {text}", "  ", width)
    yield from _wrapped(_fates_source(cluster), "  ", width)
    for note in unmanaged_notes(cluster.fates):
        unmanaged = () if cluster.fates is None else cluster.fates.unmanaged
        yield from _wrapped(f"{note} {listed([each.name for each in unmanaged], _MAX_NAMES)}", "  ", width)
    if cluster.load is not None:
        yield from _wrapped(f"{cluster.load.load}: {cluster.load.assumption}", "  ", width)
        for load in cluster.load.rows:
            not_started = f", not started {counts_text(load.n_not_started)}" if any(load.n_not_started) else ""
            text = (
                f"{load.queue or 'cluster'}: wait p90 {waits_text(load.wait_p90)}{not_started}, "
                f"evictions {counts_text(load.evictions)}"
            )
            yield from _wrapped(text, "    ", width)
    if cluster.rollout is not None and cluster.rollout.steps:
        yield f"  rollout: {counted(len(cluster.rollout.steps), 'update')}"
        for number, step in enumerate(cluster.rollout.steps, 1):
            drains = f"drain {'; '.join(step.drains)}; then " if step.drains else ""
            yield from _wrapped(f"{number}. {drains}{listed(step.actions, 6)}", "    ", width)
        for warning in cluster.rollout.warnings:
            yield from _wrapped(f"warning: {warning}", "    ", width)


def _fates_source(cluster: ClusterReview) -> str:
    if cluster.fates is None:
        return f"effect on running work: unknown, because {cluster.why_no_fates}"
    age = None if cluster.snapshot is None else cluster.snapshot.age_s
    verified = "" if cluster.fates.is_verified else f", {cluster.fates.unverified}"
    n = len(cluster.fates.rows)
    shown = "age unknown" if age is None else f"{age_text(age)} old"
    incomplete = f"; incomplete: {cluster.fates.why_incomplete}" if cluster.fates.why_incomplete else ""
    n_unknown = sum(row.head.fate is Fate.UNKNOWN for row in cluster.fates.rows)
    unknown = f", {n_unknown:,} unknown" if n_unknown else ""
    return f"outcomes of {counted(n, 'running workload')}{unknown}: {cluster.fates.source}{verified}; snapshot: {shown}{incomplete}"


def _findings(review: Review, width: int) -> Iterator[str]:
    for sign, held in (("new", review.findings.appeared), ("resolved", review.findings.resolved)):
        for found in held:
            at = f"{found.at.file}:{found.at.line}"
            yield from _wrapped(
                f"{sign}: {found.code} {found.effective_severity.value} {at}: {found.message}", "  ", width
            )


def _fidelity(review: Review, width: int) -> Iterator[str]:
    for each in review.fidelity:
        ends = f"{each.before or 'not used'} → {each.after or 'not used'}"
        yield from _wrapped(f"{each.cluster} {each.field}: {ends}", "  ", width)


def _approvals(review: Review, width: int) -> Iterator[str]:
    for each in review.approvals:
        given = " (given)" if each.is_given else ""
        yield from _wrapped(f"{each.owner}{given}: {'; '.join(each.reasons)}", "  ", width)


def _gates(review: Review, width: int) -> Iterator[str]:
    for gate in review.gates:
        yield from _wrapped(f"{'failed' if gate.has_failed else 'passed'}: {gate.label}: {gate.found}", "  ", width)
