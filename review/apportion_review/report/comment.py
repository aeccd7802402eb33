"""The review as a comment on a pull request: the essentials come first, everything else is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.counted_nouns import counted
from apportion_compiler.diagnostics.diagnostic import Severity
from apportion_policy.evaluation.sanitized_text import fenced
from apportion_review.diff_text import diff_text
from apportion_review.facts import QUEUE
from apportion_review.fates.records import Fate
from apportion_review.gates import gpu_hours_text, lost_gpu_s, lost_work
from apportion_review.report.collapsible_sections import folds
from apportion_review.report.impact_rows import (
    FateGroup,
    added,
    fate_groups,
    gpus_text,
    listed,
    quota_rows,
    resource_text,
    share_columns,
)
from apportion_review.report.markdown import code, folded, mention, prose, shortened, table
from apportion_review.report.verdict import Level, verdict
from apportion_review.review import ClusterReview, Review
from apportion_review.unknown_clusters import clusters_text, unknown_clusters, why_unknown

MARKER = "<!-- apportion:review -->"
"""First line of the comment, which identifies it for later edits."""
MAX_BYTES = 65_000
"""GitHub rejects comments of more than 65,536 characters."""

_SIGNS = {
    Level.NONE: "🟢",
    Level.LOSS: "🟠",
    Level.UNKNOWN: "🟠",
    Level.DESTRUCTIVE: "🔴",
    Level.BROKEN: "🔴",
}
_MAX_GROUPS, _MAX_QUOTAS, _MAX_NAMES, _MAX_STATEMENTS, _MAX_OWNERS, _MAX_GATES = 5, 5, 12, 3, 8, 2
_DIFF_BYTES, _DIFF_COLUMNS = 12_000, 96


def comment(review: Review) -> str:
    """Return the comment: below 65,536 bytes, with at most 25 lines before the first fold."""
    found = verdict(review)
    lines = [MARKER, f"### {_SIGNS[found.level]} {prose(found.headline)}{_needs(found.needs)}"]
    if found.level is Level.NONE and not review.findings.appeared and not review.gates:
        lines += [_footer(review)]
        return "\n".join(lines) + "\n"
    lines += ["", *_statements(review), *_quotas(review), *_fates(review.clusters), *_facts(review)]
    tail = ["", _footer(review)]
    left = MAX_BYTES - sum(len(line.encode()) + 1 for line in (*lines, *tail))
    for section in (_diff(review), *folds(review)):
        held = folded(section[0], section[1])
        size = sum(len(line.encode()) + 1 for line in held)
        if size > left:
            # A fold that does not fit is mentioned, so that it does not appear to be empty.
            held = folded(section[0], ["See the JSON and HTML reports."])
            size = sum(len(line.encode()) + 1 for line in held)
            if size > left:
                break
        left -= size
        lines += held
    return "\n".join([*lines, *tail]) + "\n"


def _needs(owners: Sequence[str]) -> str:
    if not owners:
        return ""
    return f" Needs approval from {listed([mention(owner) for owner in owners], _MAX_OWNERS)}."


def _statements(review: Review) -> Iterator[str]:
    """Yield the most important changes of queues in one paragraph."""
    direct = [s for s in review.diff.statements if not s.is_derived]
    chosen = sorted(direct, key=lambda s: (s.action != "removed", s.kind != QUEUE))[:_MAX_STATEMENTS]
    shown = [f"**{code(s.name) if s.name else prose(s.kind)} {prose(s.text)}**" for s in chosen]
    more = len(direct) - len(chosen)
    if shown:
        yield "; ".join(shown) + (f"; {counted(more, 'more change')} below" if more else "")


def _quotas(review: Review) -> Iterator[str]:
    rows = quota_rows(review.clusters)
    if not rows:
        return
    shares = share_columns(rows)
    several = len(review.clusters) > 1
    heading = ["queue", *(["clusters"] if several else []), "GPU", "guaranteed", "limit"]
    heading += [*(title for title, _ in shares), ""]
    yield ""
    yield from table(
        heading,
        (
            [
                code(row.queue),
                *([_clusters(row.clusters, review)] if several else []),
                prose(resource_text(row.resource)),
                row.guaranteed,
                row.limit,
                *(cell(row) for _, cell in shares),
                row.effect,
            ]
            for row in rows[:_MAX_QUOTAS]
        ),
    )


def _clusters(names: Sequence[str], review: Review) -> str:
    return "all" if len(names) == len(review.clusters) else listed([prose(name) for name in names], 2)


def _fates(clusters: Sequence[ClusterReview]) -> Iterator[str]:
    groups = fate_groups(clusters)
    if not groups:
        return
    yield ""
    yield from table(
        ("workload", "queue", "GPUs", "outcome", "reason"),
        [*(_fate_row(group, several=len(clusters) > 1) for group in groups[:_MAX_GROUPS]), *_rest(groups)],
    )


def _fate_row(group: FateGroup, *, several: bool) -> list[str]:
    names = [code(row.workload.name) for row in group.rows]
    fate = f"**{group.fate.value}**" if group.fate is not Fate.UNKNOWN else "unknown"
    where = f" on {prose(group.cluster)}" if several else ""
    beneficiary = f" (for {code(group.beneficiary)})" if group.beneficiary else ""
    return [
        listed(names, _MAX_NAMES),
        code(group.queue),
        prose(gpus_text(group.gpus)),
        fate + where,
        prose(group.rule) + beneficiary,
    ]


def _rest(groups: Sequence[FateGroup]) -> Iterator[list[str]]:
    """Yield one row for all groups after the largest, so that the summary covers all affected workloads."""
    rest = groups[_MAX_GROUPS:]
    if not rest:
        return
    by_fate: dict[Fate, int] = {}
    for group in rest:
        by_fate[group.fate] = by_fate.get(group.fate, 0) + len(group.rows)
    gpus = added(row.workload for group in rest for row in group.rows)
    fates = ", ".join(f"{n:,} **{fate.value}**" for fate, n in by_fate.items())
    n = sum(by_fate.values())
    queues = len({group.queue for group in rest})
    yield [
        f"{counted(n, 'more workload')}, listed below",
        f"{counted(queues, 'queue')}",
        prose(gpus_text(gpus)),
        fates,
        "",
    ]


def _facts(review: Review) -> Iterator[str]:
    """Yield one line each: work at risk, unaffected and unknown work, gates and approvals."""
    yield ""
    for text in (_errors(review), _at_stake(review), _counted(review), _unknown(review)):
        if text:
            yield f"{text}<br>"
    failed = [gate for gate in review.gates if gate.has_failed]
    passed = len(review.gates) - len(failed)
    if review.gates:
        shown = [f"❌ {code(gate.label)}: {prose(gate.found)}" for gate in failed[:_MAX_GATES]]
        shown += [f"{len(failed) - _MAX_GATES} more failed"] if len(failed) > _MAX_GATES else []
        shown += [f"{passed} passed"] if passed else []
        yield f"**Gates:** {'; '.join(shown)}<br>"
    if review.approvals:
        owners = [
            f"{'✔ ' if each.is_given else ''}{mention(each.owner)} ({prose(_reason(each.reasons))})"
            for each in review.approvals
        ]
        yield f"**Required approvals:** {listed(owners, _MAX_OWNERS)}"
    else:
        yield "**Required approvals:** code owners only."


def _errors(review: Review) -> str:
    found = [each for each in review.findings.appeared if each.effective_severity is Severity.ERROR]
    shown = [f"{code(each.code)} at {code(f'{each.at.file}:{each.at.line}')}: {prose(each.message)}" for each in found]
    return f"**Errors:** {listed(shown, _MAX_STATEMENTS)}." if shown else ""


def _reason(reasons: Sequence[str]) -> str:
    return reasons[0] if len(reasons) == 1 else f"{reasons[0]}, and {counted(len(reasons) - 1, 'more reason')}"


def _at_stake(review: Review) -> str:
    hit = [cluster for cluster in review.clusters if lost_work(cluster)]
    if not hit:
        return ""
    amounts = [lost_gpu_s(cluster) for cluster in hit]
    known = sum(amount for amount in amounts if amount is not None)
    more = " (unknown for those without a start time)" if None in amounts else ""
    return f"**Work at risk:** {gpu_hours_text(known)} since the start of the affected workloads{more}, assuming no checkpoints."


def _counted(review: Review) -> str:
    """Return the number of workloads with an unchanged fate, and separately of those with an unknown one."""
    rows = [row for cluster in review.clusters if cluster.fates is not None for row in cluster.fates.rows]
    if not rows:
        return ""
    worse = {id(row) for cluster in review.clusters for row in cluster.worse}
    others: dict[Fate, int] = {}
    for row in rows:
        if id(row) not in worse:
            others[row.head.fate] = others.get(row.head.fate, 0) + 1
    shown = ", ".join(f"{others[fate]:,} {fate.value}" for fate in Fate if fate in others)
    ages = [c.snapshot.age_s for c in review.clusters if c.fates is not None and c.snapshot is not None]
    known = [age for age in ages if age is not None]
    age = f"snapshot {age_text(max(known))} old" if known and len(known) == len(ages) else "snapshot of unknown age"
    sources = dict.fromkeys(
        f"{prose(c.fates.source)}{'' if c.fates.is_verified else f' ({c.fates.unverified})'}"
        for c in review.clusters
        if c.fates is not None
    )
    text = f"Other running work: {shown}." if shown else "No other work is running."
    return f"{text} Evaluated with {', '.join(sources)}; {age}."


def _unknown(review: Review) -> str:
    unknown = unknown_clusters(review.diff, review.clusters)
    by_reason: dict[str, list[str]] = {}
    for cluster in review.clusters:
        if cluster.name in unknown and why_unknown(cluster):
            by_reason.setdefault(why_unknown(cluster), []).append(cluster.name)
    reasons = [f"{prose(clusters_text(names))}: {prose(reason)}" for reason, names in by_reason.items()]
    return f"**Unknown:** what happens to work already running on {listed(reasons, 3)}." if reasons else ""


def age_text(seconds: int) -> str:
    """Return an age in its largest unit: `14 min`, `3 h`, `2 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _diff(review: Review) -> tuple[str, list[str]]:
    text = diff_text(review.diff, lambda _, shown: shown, _DIFF_COLUMNS)
    lines = shortened(text.splitlines(), _DIFF_BYTES, "lines")
    n = len({(s.kind, s.name) for s in review.diff.statements if not s.is_derived})
    return f"Policy changes: {counted(n, 'object')}", fenced("\n".join(lines)).rstrip("\n").split("\n")


def _footer(review: Review) -> str:
    parts = [
        f"{code(review.diff.base.name)} → {code(review.diff.head.name)}",
        f"apportion {prose(review.version)}",
        ", ".join(f"{prose(name)} {code(digest[:19])}" for name, digest in list(review.digests.items())[:6]),
        "workload names are redacted" if review.is_redacted else "",
        f"reproduce: {code(review.command, 1_000)}" if review.command else "",
    ]
    return f"<sub>{' · '.join(part for part in parts if part)}</sub>"
