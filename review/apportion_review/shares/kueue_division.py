"""The division of quota in Kueue's cohorts: nominal quota first, then lent quota by fair sharing weight.

With fair sharing, the next workload is that of the child whose borrowed quota, including the workload, is the smallest
in proportion to its weight, and children that borrow more are preempted for it (`LessThanInitialShare`). For workloads
of one GPU, this is the method of highest averages. Without fair sharing, quota is borrowed in order of arrival: every
child may use the idle quota of others.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/fair_sharing_iterator.go, pkg/cache/scheduler/fair_sharing.go,
resource_node.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush

from apportion_review.shares.division_records import Claim, Division, DivisionInputs, Round, Setting, Step
from apportion_runtime.engines.kueue.quota_tree import CohortTree, Node, Quota

_RESOURCE = ("", "")
_PARTS = 10**9
"""Kubernetes parses weights with nine decimals."""


@dataclass(frozen=True, slots=True)
class _Child:
    name: str
    quota: int
    kept: int
    request: int
    weight: Fraction

    @property
    def own(self) -> int:
        """The amount of its own quota."""
        return min(self.request, self.quota)

    @property
    def wanted(self) -> int:
        """The requested amount of borrowed quota."""
        return self.request - self.own

    @property
    def drawn(self) -> int:
        """The amount of the cohort's quota that its own quota covers."""
        return max(self.own - self.kept, 0)


def kueue_divisions(inputs: DivisionInputs) -> Iterator[Division]:
    """Yield the division of each cohort, parents first."""
    children = inputs.children()
    held = _children(inputs)
    is_fair = bool(inputs.settings["fairSharing"])
    pending: list[tuple[str | None, int]] = [(None, int(inputs.total))]
    while pending:
        parent, total = pending.pop()
        claims = children.get(parent, ())
        if not claims:
            continue
        members = [held[claim.name] for claim in claims]
        left = total - sum(each.drawn for each in members)
        steps = [Step(each.name, "guaranteed", 0, each.own) for each in members if each.own]
        rounds: tuple[Round, ...] = ()
        borrowed: Mapping[str, int] = {}
        asking = [each for each in members if each.wanted]
        if parent is not None and left > 0 and asking:
            if is_fair:
                borrowed = _borrowed(left, asking)
                weights = {each.name: weight_number(each.weight) for each in asking}
                rounds = (Round(0, 1, left, weights),)
                steps += [Step(name, "surplus", 1, given) for name, given in borrowed.items() if given]
            else:
                borrowed = {each.name: min(each.wanted, left) for each in asking}
                steps += [Step(name, "available", 0, given) for name, given in borrowed.items()]
        shares = {each.name: each.own + borrowed.get(each.name, 0) for each in members}
        yield Division(
            parent,
            total,
            tuple(
                Claim(claim.name, claim.queue, {**claim.numbers, **_numbers(held[claim.name])}, shares[claim.name])
                for claim in claims
            ),
            rounds,
            tuple(steps),
            left - sum(borrowed.values()) if is_fair else left,
        )
        pending += [(claim.name, shares[claim.name]) for claim in reversed(claims)]


def weight_number(weight: Fraction) -> int | float:
    """Return a weight as in the objects."""
    return int(weight) if weight.denominator == 1 else float(weight)


def _numbers(child: _Child) -> Mapping[str, Setting]:
    return {"quota": child.quota, "kept": child.kept, "request": child.request}


def _children(inputs: DivisionInputs) -> Mapping[str, _Child]:
    tree = CohortTree(
        Node(
            claim.name,
            claim.parent,
            {
                _RESOURCE: Quota(
                    _whole(claim.numbers["nominal"]) or 0,
                    _whole(claim.numbers["borrowingLimit"]),
                    _whole(claim.numbers["lendingLimit"]),
                )
            },
        )
        for claim in inputs.claims
    )
    children = inputs.children()
    found: dict[str, _Child] = {}
    for claim in reversed(inputs.claims):
        quota = tree.quota[claim.name].get(_RESOURCE, 0)
        borrowing, lending = (claim.numbers[key] for key in ("borrowingLimit", "lendingLimit"))
        kept = 0 if lending is None or claim.parent is None else max(quota - int(lending), 0)
        below = [found[child.name] for child in children.get(claim.name, ())]
        asked = int(claim.numbers["ownRequest"] or 0) + sum(max(each.request - each.kept, 0) for each in below)
        if claim.parent is None:
            asked = min(asked, quota)
        elif borrowing is not None:
            asked = min(asked, quota + int(borrowing))
        weight = Fraction(claim.numbers["weight"] or 0).limit_denominator(_PARTS)
        found[claim.name] = _Child(claim.name, quota, kept, asked, weight)
    return found


def _whole(value: Setting) -> int | None:
    return None if value is None else int(value)


def _borrowed(left: int, children: Sequence[_Child]) -> dict[str, int]:
    """Return the borrowed amount of each child, assigned one GPU at a time; weight 0 comes last, ties go by name."""
    wanted = {each.name: each.wanted for each in children}
    weights = {each.name: each.weight for each in children}
    given = dict.fromkeys(wanted, 0)

    def rank(name: str) -> tuple[bool, Fraction, str]:
        more = Fraction(given[name] + 1)
        weight = weights[name]
        return (True, more, name) if weight == 0 else (False, more / weight, name)

    queue = [rank(name) for name in wanted]
    heapify(queue)
    for _ in range(min(left, sum(wanted.values()))):
        name = heappop(queue)[2]
        given[name] += 1
        if given[name] < wanted[name]:
            heappush(queue, rank(name))
    return given
