"""Verification of a report's share proof: each step follows from the previous one, and the policy declares the amounts.

It does not depend on the code that divides: the rules are those of `kai_verifier`, `koordinator_verifier`,
`kueue_verifier` and `guarantee_verifier`, written from the engines' sources, and nothing of `apportion_runtime` is
imported. The shares of a policy are verified against the same policy: a proof with a limit that the policy does not
declare is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from apportion_review.shares import guarantee_verifier, kai_verifier, koordinator_verifier, kueue_verifier
from apportion_review.shares.division_document import MalformedProofError, division_of
from apportion_review.shares.division_records import Claim, ClaimInputs, Division, DivisionInputs, Number, Setting
from apportion_review.shares.records import Demand
from apportion_review.shares.step_walk import RefusedStepError

Check = Callable[[Division, Mapping[str, Number]], None]
ProofKey = tuple[str, str, str]
"""Side, demand and resource of a proof."""

_RULES: Mapping[str, Check] = {
    "ack": guarantee_verifier.check_reservation,
    "kai": kai_verifier.check_kai,
    "koordinator": koordinator_verifier.check_koordinator,
    "kueue": kueue_verifier.check_kueue,
    "volcano": guarantee_verifier.check_reservation,
    "yunikorn": guarantee_verifier.check_reservation,
}
_DERIVED: Mapping[str, Callable[[DivisionInputs], Mapping[str, Mapping[str, Setting]]]] = {
    "ack": guarantee_verifier.ack_numbers,
    "koordinator": koordinator_verifier.requests_of,
    "kueue": kueue_verifier.quotas_of,
    "volcano": guarantee_verifier.volcano_numbers,
    "yunikorn": guarantee_verifier.yunikorn_numbers,
}
"""Numbers of each claim that follow from those of other claims."""


def proof_key(proof: object) -> ProofKey:
    """Return side, demand and resource of a proof in JSON. Raises `MalformedProofError`."""
    if not isinstance(proof, Mapping):
        raise MalformedProofError("a proof is not an object")
    made = cast("Mapping[str, object]", proof)
    found = (made.get("side"), made.get("demand"), made.get("resource"))
    if not all(isinstance(each, str) for each in found):
        raise MalformedProofError("a proof must have a side, a demand and a resource")
    if made.get("demand") not in {demand.value for demand in Demand}:
        raise MalformedProofError(f"unknown demand `{made.get('demand')}`")
    return cast("ProofKey", found)


def proof_faults(proof: Mapping[str, object], inputs: DivisionInputs) -> Iterator[str]:
    """Yield the faults of a proof: one sentence for each division, naming step, queue and field.

    Args:
        proof: The proof in a report's JSON.
        inputs: The policy's queues under the demand of the proof, and the capacity.
    """
    side, demand, resource = proof_key(proof)
    name = f"{resource} of {side}, {demand}"
    if proof.get("engine") != inputs.engine:
        yield f"{name}: engine is {proof.get('engine')}, but the policy has {inputs.engine}"
        return
    if proof.get("settings") != dict(inputs.settings) or not _are_numbers(proof.get("settings")):
        yield f"{name}: settings are {proof.get('settings')}, but the policy has {dict(inputs.settings)}"
        return
    documents = proof.get("divisions")
    if not isinstance(documents, list):
        yield f"{name}: `divisions` is missing"
        return
    totals: dict[str | None, Number] = {None: inputs.total}
    check = _Check(inputs)
    for number, document in enumerate(cast("Sequence[object]", documents), 1):
        where = f"{name}, division {number}"
        try:
            division = division_of(document, where)
            check(division, totals)
        except MalformedProofError as malformed:
            yield f"{malformed}."
        except RefusedStepError as refused:
            yield f"{where}: {refused}."
        else:
            totals.pop(division.parent)
            totals.update((claim.name, claim.share) for claim in division.claims)


class _Check:
    """The checks of each division of one proof."""

    def __init__(self, inputs: DivisionInputs) -> None:
        self._inputs = inputs
        self._children = inputs.children()
        derived = _DERIVED[inputs.engine](inputs) if inputs.engine in _DERIVED else {}
        self._numbers = {claim.name: {**claim.numbers, **derived.get(claim.name, {})} for claim in inputs.claims}

    def __call__(self, division: Division, totals: Mapping[str | None, Number]) -> None:
        """Check a division against the shares of its parent. Raises `RefusedStepError`."""
        above = "the cluster" if division.parent is None else f"queue {division.parent}"
        if division.parent not in totals:
            raise RefusedStepError(f"no share of {above} is left to divide")
        if division.total != totals[division.parent]:
            raise RefusedStepError(f"total is {division.total}, but {above} has {totals[division.parent]}")
        self._check_claims(division)
        _RULES[self._inputs.engine](division, self._inputs.settings)

    def _check_claims(self, division: Division) -> None:
        declared = {claim.name: claim for claim in self._children.get(division.parent, ())}
        written = [claim.name for claim in division.claims]
        if sorted(written) != sorted(declared):
            named = ", ".join(sorted(declared.keys() ^ set(written))) or "a queue is listed twice"
            raise RefusedStepError(f"the queues differ from those in the policy: {named}")
        for claim in division.claims:
            _check_claim(claim, declared[claim.name], self._numbers[claim.name])


def _check_claim(claim: Claim, declared: ClaimInputs, numbers: Mapping[str, Setting]) -> None:
    if claim.queue != declared.queue:
        raise RefusedStepError(f"queue {claim.name} is {claim.queue}, but {declared.queue} in the policy")
    if claim.numbers.keys() != numbers.keys():
        raise RefusedStepError(f"queue {claim.name} must have exactly the amounts {', '.join(numbers)}")
    for field, value in numbers.items():
        written = claim.numbers[field]
        if written != value or isinstance(written, bool) != isinstance(value, bool):
            raise RefusedStepError(f"queue {claim.name}: {field} is {written}, but the policy has {value}")


def _are_numbers(settings: object) -> bool:
    return isinstance(settings, Mapping) and not any(
        isinstance(value, bool) for value in cast("Mapping[str, object]", settings).values()
    )
