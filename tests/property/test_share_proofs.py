"""Share proofs: the checker accepts the division of an engine's model, and rejects any modified number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_review.shares.division_document import proof_document
from apportion_review.shares.division_records import ClaimInputs, DivisionInputs, Setting
from apportion_review.shares.engine_shares import proof_of
from apportion_review.shares.proof_check import proof_faults
from apportion_review.shares.records import Demand

from .share_trees import ENGINES, altered, division_inputs

pytestmark = pytest.mark.property


def _document(inputs: DivisionInputs) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(proof_document(proof_of("head", Demand.EVERYONE, inputs))))
    return made


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=100)
@given(data=st.data())
def test_generated_proofs_are_accepted(engine: str, data: st.DataObject) -> None:
    inputs = data.draw(division_inputs(engine, 12))
    assert list(proof_faults(_document(inputs), inputs)) == []


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=40)
@given(data=st.data())
def test_any_altered_number_is_refused(engine: str, data: st.DataObject) -> None:
    inputs = data.draw(division_inputs(engine, 6))
    document = _document(inputs)
    for path, former, value in altered(document):
        assert list(proof_faults(document, inputs)), (path, former, value)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=60)
@given(data=st.data())
def test_proof_of_another_policy_is_refused(engine: str, data: st.DataObject) -> None:
    inputs = data.draw(division_inputs(engine))
    number = data.draw(st.integers(0, len(inputs.claims) - 1))
    field = data.draw(st.sampled_from(sorted(inputs.claims[number].numbers)))
    value = inputs.claims[number].numbers[field]
    other = not value if isinstance(value, bool) else 1 if value is None else value + 1
    claim = replace(inputs.claims[number], numbers={**inputs.claims[number].numbers, field: other})
    claims = (*inputs.claims[:number], claim, *inputs.claims[number + 1 :])
    assert list(proof_faults(_document(inputs), replace(inputs, claims=claims)))


def _kai(deserved: float, request: float, weight: float = 1.0) -> Mapping[str, Setting]:
    numbers = {"deserved": deserved, "limit": -1.0, "weight": weight, "priority": 100, "request": request}
    return {**numbers, "created": 0.0, "usage": 0.0}


TWO = DivisionInputs(
    "kai",
    "gpu/h100",
    10.0,
    {"kValue": 1.0},
    (ClaimInputs("nlp", "nlp", None, _kai(2.0, 10.0)), ClaimInputs("vision", "vision", None, _kai(3.0, 10.0))),
)


def test_refusal_names_the_step_queue_and_field() -> None:
    document = _document(TWO)
    document["divisions"][0]["steps"][1]["amount"] = 4.0
    (fault,) = proof_faults(document, TWO)
    assert fault == (
        "gpu/h100 of head, every queue requests all resources, division 1: "
        "step 2, queue vision: amount is 4.0, expected 3.0."
    )


def test_total_of_a_level_must_equal_the_share_above() -> None:
    below = replace(TWO, claims=(*TWO.claims, ClaimInputs("ocr", "ocr", "vision", _kai(1.0, 5.0))))
    document = _document(below)
    document["divisions"][1]["total"] = 7.0
    assert [fault.partition(": ")[2] for fault in proof_faults(document, below)] == [
        "total is 7.0, but queue vision has 5.0."
    ]


def test_division_without_its_parent_is_refused() -> None:
    below = replace(TWO, claims=(*TWO.claims, ClaimInputs("ocr", "ocr", "vision", _kai(1.0, 5.0))))
    document = _document(below)
    del document["divisions"][0]
    assert [fault.partition(": ")[2] for fault in proof_faults(document, below)] == [
        "no share of queue vision is left to divide."
    ]
