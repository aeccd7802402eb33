"""The verdict on a change: one line that summarizes the review."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from apportion_api.counted_nouns import agreeing, counted
from apportion_compiler.diagnostics.diagnostic import Severity
from apportion_review.facts import ORGANISATION, QUEUE
from apportion_review.fates.records import Fate
from apportion_review.report.impact_rows import listed
from apportion_review.review import ClusterReview, Review
from apportion_review.unknown_clusters import changed_clusters, clusters_text, unknown_clusters

_PHRASES: Mapping[Fate, tuple[str, str]] = {
    Fate.EVICTED: ("{} is evicted immediately on {}", "{} are evicted immediately on {}"),
    Fate.STUCK: ("{} keeps running above its queue's limit on {}", "{} keep running above their queues' limits on {}"),
    Fate.ON_DEMAND: ("{} becomes reclaimable on demand on {}", "{} become reclaimable on demand on {}"),
    Fate.UNKNOWN: ("what happens to {} on {} is unknown", "what happens to {} on {} is unknown"),
}


_MAX_STATED, _MAX_OWNERS = 2, 4


class Level(str, Enum):
    """The severity of a change."""

    NONE = "none"
    LOSS = "loss"
    UNKNOWN = "unknown"
    DESTRUCTIVE = "destructive"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class ReviewVerdict:
    """The verdict.

    Attributes:
        level: The severity of the change.
        headline: One or more sentences without markup.
        needs: Owners whose approval is missing.
    """

    level: Level
    headline: str
    needs: tuple[str, ...]


def verdict(review: Review) -> ReviewVerdict:
    """Return the verdict on a change."""
    needs = tuple(approval.owner for approval in review.approvals if not approval.is_given)
    level = _level(review)
    if level is Level.NONE:
        return ReviewVerdict(level, _harmless(review), needs)
    parts = [*_broken(review), *_fates(review.clusters), *_deleted(review), *_unknown(review)]
    if not any(cluster.worse for cluster in review.clusters) and not review.broken:
        parts += _losses(review)
    parts += _failed(review)
    if review.approvals and not needs and not review.broken:
        parts.append(f"approved by {listed([approval.owner for approval in review.approvals], _MAX_OWNERS)}")
    return ReviewVerdict(level, _sentence(parts), needs)


def _level(review: Review) -> Level:
    if review.broken or _new_errors(review):
        return Level.BROKEN
    worse = [row.head.fate for cluster in review.clusters for row in cluster.worse]
    if any(fate is not Fate.UNKNOWN for fate in worse) or any(gate.has_failed for gate in review.gates):
        return Level.DESTRUCTIVE
    if _deletes_queue(review):
        return Level.DESTRUCTIVE
    if unknown_clusters(review.diff, review.clusters):
        return Level.UNKNOWN
    return Level.LOSS if review.approvals else Level.NONE


def _new_errors(review: Review) -> int:
    return sum(found.effective_severity is Severity.ERROR for found in review.findings.appeared)


def _broken(review: Review) -> Iterable[str]:
    for name, why in review.broken:
        yield f"{name} {why}"


def _failed(review: Review) -> Iterable[str]:
    n_errors = _new_errors(review)
    if n_errors and not review.broken:
        yield f"{counted(n_errors, 'new error')}"
    failed = [gate.name for gate in review.gates if gate.has_failed]
    if failed:
        yield f"{agreeing(len(failed), 'gate')} {', '.join(failed)} failed"


def _fates(clusters: Iterable[ClusterReview]) -> Iterable[str]:
    by_fate: dict[Fate, dict[str, int]] = {}
    for cluster in clusters:
        for row in cluster.worse:
            held = by_fate.setdefault(row.head.fate, {})
            held[cluster.name] = held.get(cluster.name, 0) + 1
    for fate in sorted(by_fate, key=lambda fate: -fate.severity):
        n = sum(by_fate[fate].values())
        one, several = _PHRASES[fate]
        where = clusters_text(list(by_fate[fate]))
        yield agreeing(n, one, several).format(counted(n, "running workload"), where)


def _deletes_queue(review: Review) -> bool:
    """Return whether a queue is deleted, excluding renamed queues."""
    return any(s.kind == QUEUE and s.action == "removed" for s in review.diff.statements)


def _deleted(review: Review) -> Iterable[str]:
    gone = [s.name for s in review.diff.statements if s.kind == QUEUE and s.action == "removed"]
    if gone:
        yield f"{counted(len(gone), 'queue')} {agreeing(len(gone), 'is', 'are')} deleted"


def _unknown(review: Review) -> Iterable[str]:
    without = [c.name for c in review.clusters if c.fates is None]
    unknown = [name for name in unknown_clusters(review.diff, review.clusters) if name in without]
    if unknown:
        yield f"what happens to work already running on {clusters_text(unknown)} is unknown"
    incomplete = [c.name for c in review.clusters if c.fates is not None and c.fates.why_incomplete]
    incomplete = [name for name in unknown_clusters(review.diff, review.clusters) if name in incomplete]
    if incomplete:
        yield f"the list of evictions on {clusters_text(incomplete)} is incomplete"


def _losses(review: Review) -> Iterable[str]:
    n = len({s.name for s in review.diff.statements if s.kind == QUEUE})
    quotas = f"the quotas of {counted(n, 'queue')} change" if n else ""
    n_missing = sum(not approval.is_given for approval in review.approvals)
    owners = counted(len(review.approvals), "owner")
    if quotas and n_missing:
        is_partial = n_missing < len(review.approvals)
        have_not = f"{n_missing} of {owners} {agreeing(n_missing, 'has', 'have')} not approved"
        yield f"{quotas}, and {have_not if is_partial else f'{owners} must approve'}"
    elif quotas:
        yield quotas
    elif review.approvals:
        kinds = sorted({s.kind for s in review.diff.statements if not s.is_derived})
        subject = f"changes to {_joined([_plural(kind) for kind in kinds])}" if kinds else ""
        if n_missing:
            still = f"still needed from {n_missing} of" if n_missing < len(review.approvals) else "needed from"
            yield f"approval {still} {owners}{f' for {subject}' if subject else ''}"
        elif subject:
            yield subject


def _plural(kind: str) -> str:
    if kind == ORGANISATION:
        return f"the {kind}"
    return kind if kind.endswith("rules") else f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _harmless(review: Review) -> str:
    if not review.diff.differs:
        return "The policy does not change."
    direct = [s for s in review.diff.statements if not s.is_derived]
    n = len({(s.kind, s.name) for s in direct})
    changed = changed_clusters(review.diff)
    reason = (
        "No object changes on any cluster" if changed is not None and not changed else "No running workload is affected"
    )
    if len(direct) <= _MAX_STATED:
        what = "; ".join(f"{s.kind} `{s.name}` {s.text}" if s.name else f"{s.kind} {s.text}" for s in direct)
    else:
        what = f"{counted(n, 'policy object')} changed"
    return f"{reason}, and no queue loses anything: {what}."


def _sentence(parts: Iterable[str]) -> str:
    text = "; ".join(parts)
    if text and text.split()[0].isalpha():  # Paths are case-sensitive.
        text = f"{text[0].upper()}{text[1:]}"
    return f"{text}." if text else "No findings."
