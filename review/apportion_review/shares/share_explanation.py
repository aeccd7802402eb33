"""The share of a queue as text: the amount at each level of the tree, and why a sibling gets more or less.

All amounts are taken from a proof's records; `engine_shares` computes the division.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from textwrap import wrap

from apportion_review.shares.division_records import THOUSANDTHS, Claim, Division, Number, Round, Setting, ShareProof
from apportion_review.value_text import amount
from apportion_runtime.core.explain.amounts import decimals

_WIDTH = 80
_UNLIMITED = (None, -1)
_LIMITS = {"kai": "limit", "koordinator": "max"}
# Where a claim has the limit.
_PHASES = (
    (("guaranteed",), "guaranteed"),
    (("surplus", "returned"), "of the surplus"),
    (("remainder",), "from rounding"),
    (("available",), "that no other queue can reclaim"),
)


@dataclass(frozen=True, slots=True)
class ShareExplanation:
    """A queue's share of one resource.

    Attributes:
        proof: The divisions on the path of the queue, from the cluster down.
        levels: One block of lines for each of them.
        comparison: One sentence on a sibling; empty if the queue has none.
    """

    proof: ShareProof
    levels: tuple[tuple[str, ...], ...]
    comparison: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The explanation in lines of at most 80 columns, unless a single word is longer."""
        blocks = [*(line for level in self.levels for line in level), *([self.comparison] if self.comparison else [])]
        return tuple(line for each in blocks for line in _wrapped(each))


def explain_share(proof: ShareProof, queue: str, peer: str | None = None) -> ShareExplanation | None:
    """Explain the share of a queue; None if it has no share of the resource.

    Args:
        proof: A proof with all divisions, and without past usage.
        queue: Id of the queue.
        peer: Id of a sibling to compare with; the sibling with the largest share if None.
    """
    path = _path(proof, queue)
    if not path:
        return None
    queues = {claim.name: claim.queue for claim in proof.inputs.claims}
    division, own = path[-1]
    siblings = [claim for claim in division.claims if claim is not own and peer in (None, claim.queue)]
    other = max(siblings, key=lambda claim: claim.share, default=None)
    return ShareExplanation(
        replace(proof, divisions=tuple(division for division, _ in path)),
        tuple(tuple(_level(proof, division, claim, queues)) for division, claim in path),
        "" if other is None else _comparison(proof, division, own, other),
    )


def _path(proof: ShareProof, queue: str) -> list[tuple[Division, Claim]]:
    """Return the divisions that lead to a queue, each with the claim of the queue or its ancestor."""
    held = {claim.name: (division, claim) for division in proof.divisions for claim in division.claims}
    at = next((name for name, (_, claim) in held.items() if claim.queue == queue), None)
    found: list[tuple[Division, Claim]] = []
    while at is not None:
        found.append(held[at])
        at = held[at][0].parent
    return found[::-1]


def _level(proof: ShareProof, division: Division, claim: Claim, queues: Mapping[str, str]) -> Iterator[str]:
    resource = proof.inputs.resource
    above = "the cluster" if division.parent is None else f"`{queues[division.parent]}`"
    yield f"`{claim.queue}` {_verb(proof)} {_text(resource, claim.share)} of the {_text(resource, division.total)} in {above}"
    amounts = [_given(division, claim.name, "guaranteed")]
    yield f"  {_text(resource, amounts[0])} guaranteed"
    for made in division.rounds:
        if made.weights.get(claim.name, 0) <= 0:
            continue
        given, returned = (_given(division, claim.name, phase, made) for phase in ("surplus", "returned"))
        amounts += [given, returned]
        yield f"  {_text(resource, given)} in surplus round {made.number}: {_round(proof, division, claim, made)}"
        if returned:
            yield f"  {_text(resource, -returned)} returned, because the queue cannot use any more"
    for phase, where in (("remainder", "from rounding"), ("available", "that no other queue can reclaim")):
        if given := _given(division, claim.name, phase):
            amounts.append(given)
            yield f"  {_text(resource, given)} {where}"
    terms = [each for each in amounts if each]
    if len(terms) > 1:
        signed = "".join(f" {'-' if each < 0 else '+'} {decimals(abs(each))}" for each in terms[1:])
        yield f"  {decimals(terms[0])}{signed} = {decimals(claim.share)}"
    if _is_at_limit(proof, claim):
        yield f"  gets no more: its limit is {_text(resource, claim.share)}"
    elif _has_all(claim) and claim.share < division.total:
        yield f"  gets no more: it requests {_text(resource, claim.share)}, capped by the limits of its children"
    elif division.left <= 0 and not division.rounds and claim.share < division.total:
        yield "  no surplus: the guarantees use all of the capacity"
    elif "weight" in claim.numbers and not claim.numbers["weight"]:
        yield "  none of the surplus: its over-quota weight is 0"


def _given(division: Division, name: str, phase: str, made: Round | None = None) -> Number:
    number = 0 if made is None else made.number
    return sum(step.amount for step in division.steps if (step.name, step.phase, step.round) == (name, phase, number))


def _round(proof: ShareProof, division: Division, claim: Claim, made: Round) -> str:
    # The weights of KAI's rounds are fractions of 1; those of the objects are the declared ones.
    weights = {
        each.queue: float(each.numbers["weight"] or 0) for each in division.claims if made.weights.get(each.name, 0) > 0
    }
    of = f"weight {decimals(weights[claim.queue])} of {decimals(sum(weights.values()))}"
    at = f" at priority {made.priority}" if proof.inputs.engine == "kai" else ""
    return f"{of}{at}, {_text(proof.inputs.resource, made.left)} to divide"


def _comparison(proof: ShareProof, division: Division, own: Claim, other: Claim) -> str:
    resource = proof.inputs.resource
    if own.share == other.share:
        return f"`{other.queue}` {_verb(proof)} as much as `{own.queue}`: {_text(resource, own.share)}."
    parts: list[str] = []
    for phases, where in _PHASES:
        theirs, ours = (
            sum(step.amount for step in division.steps if step.name == claim.name and step.phase in phases)
            for claim in (other, own)
        )
        if theirs != ours:
            why = _reasons(proof, own, other) if "surplus" in phases else ""
            parts.append(f"{decimals(theirs)} versus {decimals(ours)} {where}{why}")
    size = _text(resource, abs(other.share - own.share))
    direction = "more" if other.share > own.share else "less"
    return f"`{other.queue}` {_verb(proof)} {size} {direction} than `{own.queue}`: {', '.join(parts)}."


def _reasons(proof: ShareProof, own: Claim, other: Claim) -> str:
    found = [
        f"{field} {decimals(float(theirs or 0))} versus {decimals(float(ours or 0))}"
        for field in ("priority", "weight")
        for theirs, ours in ((other.numbers.get(field), own.numbers.get(field)),)
        if theirs != ours
    ]
    found += [f"`{claim.queue}` is at its limit" for claim in (other, own) if _is_at_limit(proof, claim)]
    found += [
        f"`{claim.queue}` has no further requests"
        for claim in (other, own)
        if _has_all(claim) and not _is_at_limit(proof, claim)
    ]
    return f" ({', '.join(found) or 'rounded to whole GPUs'})"


def _verb(proof: ShareProof) -> str:
    return "can use" if proof.inputs.overlaps else "gets"


def _is_at_limit(proof: ShareProof, claim: Claim) -> bool:
    limit = _limit(proof.inputs.engine, claim)
    return limit not in _UNLIMITED and claim.share >= float(limit or 0)


def _limit(engine: str, claim: Claim) -> Setting:
    if engine == "kueue":
        borrowing = claim.numbers["borrowingLimit"]
        return None if borrowing is None else (claim.numbers["quota"] or 0) + borrowing
    return claim.numbers[_LIMITS.get(engine, "bound")]


def _has_all(claim: Claim) -> bool:
    return claim.share >= float(claim.numbers["request"] or 0)


def _text(resource: str, gpus: Number) -> str:
    return amount(resource, round(gpus * THOUSANDTHS))


def _wrapped(line: str) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return wrap(line, _WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)
