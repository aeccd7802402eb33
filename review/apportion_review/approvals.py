"""Required approvals of a change: the owners of everything that loses by it, regardless of the changed files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from apportion_api.counted_nouns import counted
from apportion_policy.resources import GPU
from apportion_review.cluster_names import place_text
from apportion_review.differences import Change, Differences
from apportion_review.facts import (
    CLASS,
    CLUSTER,
    EFFECTIVE_LIMIT,
    ENVIRONMENT,
    ENVIRONMENT_OVERRIDE,
    ORGANISATION,
    OVERRIDE,
    PLAN,
    POOL,
    QUEUE,
    RULES,
    WAIVER,
    Fact,
    Facts,
)
from apportion_review.fates.records import Fate
from apportion_review.moved_queues import concerned_parents
from apportion_review.review import Approval, ClusterReview
from apportion_review.shares.division_records import FIRST_COME
from apportion_review.shares.records import ShareChange
from apportion_review.statements import REMOVED, Statement
from apportion_review.value_text import amount, signed, without_repeated_total

_OF_ORGANISATION = (POOL, CLASS, PLAN, ENVIRONMENT, CLUSTER, ENVIRONMENT_OVERRIDE, RULES, WAIVER, ORGANISATION)
_CONSEQUENCES = {
    Fate.EVICTED: "evicted",
    Fate.STUCK: "left running above the queue's limit",
    Fate.ON_DEMAND: "reclaimable on demand",
    Fate.UNKNOWN: "with an unknown outcome",
}


def approvals(
    found: Differences,
    statements: Sequence[Statement],
    clusters: Sequence[ClusterReview],
    *,
    given: Collection[str] = (),
    share_loss: int = 10,
) -> tuple[Approval, ...]:
    """Return the owners who must approve, with the reasons, in order of owner.

    The base determines the owner of a queue, so that a change cannot claim ownership of the quota that it takes. If a
    change sets another owner, both must approve.

    Args:
        found: The differences between the policies.
        statements: The differences as statements.
        clusters: The review of each cluster.
        given: Owners who have approved, case-insensitive.
        share_loss: Loss of fair share, in percent, from which the queue's owner must approve.
    """
    reasons: dict[str, dict[str, None]] = {}
    for queue, reason in (
        *_losses(found),
        *_removals(statements),
        *_later_overrides(found, statements),
        *_running_work(clusters, found),
        *_lost_shares(clusters, share_loss),
        *concerned_parents(found, clusters),
    ):
        for owner in _owners(found, queue):
            reasons.setdefault(owner, {})[reason] = None
    for owner, reason in (*_new_owners(found), *_of_organisation(found, statements)):
        reasons.setdefault(owner, {})[reason] = None
    agreed = {name.casefold() for name in given}
    return tuple(Approval(owner, tuple(reasons[owner]), owner.casefold() in agreed) for owner in sorted(reasons))


def _owners(found: Differences, queue: str) -> tuple[str, ...]:
    """Return the owner of a queue in the base, or in the head if only the head has the queue."""
    for facts in (found.base, found.head):
        if queue in facts.parents:
            owner = facts.values.get(Fact(QUEUE, queue, "", ("owner",)))
            return (str(owner),) if owner else _organisation(facts)
    return _organisation(found.base)


def _organisation(facts: Facts) -> tuple[str, ...]:
    owner = facts.values.get(Fact(ORGANISATION, "", "", ("owner",)))
    return (str(owner),) if owner else ()


def _losses(found: Differences) -> Iterator[tuple[str, str]]:
    """Yield the queues that lose a guarantee or get a lower effective limit, with the loss."""
    lost: dict[tuple[str, str], dict[str, list[Change]]] = {}
    for change in found.changes:
        fact = change.fact
        if fact.kind != QUEUE or not fact.scope or len(fact.field) != 2:
            continue
        if fact.field[0] == "guaranteed" and fact in found.base.filled and fact in found.head.filled:
            continue
        if fact.field[0] in ("guaranteed", EFFECTIVE_LIMIT) and fact.name in found.head.parents and _is_less(change):
            lost.setdefault((fact.name, fact.field[0]), {}).setdefault(fact.scope, []).append(change)
    for (queue, field), scopes in lost.items():
        places: dict[str, list[str]] = {}
        for scope, changes in scopes.items():
            shown = ", ".join(_loss(change) for change in without_repeated_total(changes))
            places.setdefault(shown, []).append(scope)
        word = "guaranteed" if field == "guaranteed" else "limit"
        for text, held in places.items():
            yield queue, f"`{queue}` {word} {text}{place_text(held, found.head.clusters)}"


def _loss(change: Change) -> str:
    resource = change.fact.field[1]
    if change.before is None and change.after is not None:
        return f"unset → {amount(resource, change.after)}"
    return signed(resource, change.before or 0, 0 if change.after is None else change.after)


def _is_less(change: Change) -> bool:
    before, after = change.before, change.after
    if change.fact.field[0] == "guaranteed":
        return isinstance(before, int) and before > (after if isinstance(after, int) else 0)
    if not isinstance(after, int):
        return False
    # A new limit reduces an unlimited amount.
    return not isinstance(before, int) or after < before


def _removals(statements: Sequence[Statement]) -> Iterator[tuple[str, str]]:
    for statement in statements:
        if statement.kind == QUEUE and statement.action == REMOVED:
            yield statement.name, f"`{statement.name}` is {statement.text}"


def _later_overrides(found: Differences, statements: Sequence[Statement]) -> Iterator[tuple[str, str]]:
    """Yield the queues with an inactive override of the head, whose effect is not in the amounts of the review."""
    for statement in statements:
        if (
            statement.kind == OVERRIDE
            and found.head.values.get(Fact(OVERRIDE, statement.name, "", ("in_force",))) is False
        ):
            yield (
                statement.name.partition(" ")[0],
                f"override `{statement.name}` is not in effect yet and is not evaluated",
            )


def _running_work(clusters: Sequence[ClusterReview], found: Differences) -> Iterator[tuple[str, str]]:
    names = {rename.after: rename.before for rename in found.renames if rename.kind == QUEUE}
    for cluster in clusters:
        counts: dict[tuple[str, Fate], int] = {}
        for row in cluster.worse:
            key = (row.workload.queue, row.head.fate)
            counts[key] = counts.get(key, 0) + 1
        for (queue, fate), n in counts.items():
            work = counted(n, "running workload")
            known = next((new for new, old in names.items() if old == queue), queue)
            yield known, f"{work} of `{queue}` {_CONSEQUENCES[fate]} on {cluster.name}"


def _lost_shares(clusters: Sequence[ClusterReview], share_loss: int) -> Iterator[tuple[str, str]]:
    for cluster in clusters:
        for row in cluster.shares:
            if row.resource.partition("/")[0] == GPU and _loses_share(row, share_loss):
                what = "the GPUs that it can use" if cluster.engine in FIRST_COME else "its fair share"
                yield row.queue, f"`{row.queue}` loses {share_loss}% or more of {what} on {cluster.name}"


def _loses_share(row: ShareChange, percent: int) -> bool:
    if row.base is None or row.head is None:
        return False
    shares = row.head.shares
    return any(
        before > 0 and (before - shares[demand]) * 100 >= percent * before
        for demand, before in row.base.shares.items()
        if demand in shares
    )


def _new_owners(found: Differences) -> Iterator[tuple[str, str]]:
    for change in found.changes:
        if change.fact.kind == QUEUE and change.fact.field == ("owner",) and change.fact.name in found.head.parents:
            for owner in (change.before, change.after):
                if owner and change.fact.name in found.base.parents:
                    yield str(owner), f"the owner of `{change.fact.name}` changes"


def _of_organisation(found: Differences, statements: Sequence[Statement]) -> Iterator[tuple[str, str]]:
    owners = _organisation(found.base) or _organisation(found.head)
    for statement in statements:
        if statement.kind in _OF_ORGANISATION and not statement.is_derived:
            subject = f"{statement.kind} `{statement.name}`" if statement.name else statement.kind
            for owner in owners:
                yield owner, f"{subject}: {statement.text}"
