"""The published schemas describe every document of a comparison and of a review completely."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.review.crafted_reviews import reviewed, row, side, with_fates
from tests.unit.review.test_differences import CASES, POLICY

from apportion_review.diff_document import diff_json
from apportion_review.fates.records import Fate
from apportion_review.gates import Thresholds
from apportion_review.policy_review import ReviewInputs, policy_review
from apportion_review.report.document import review_json
from apportion_review.review import LoadComparison, QueueLoad, Review, Wait
from apportion_review.schemas import SCHEMAS, schema_text

SCHEMA = {name: json.loads(schema_text(name)) for name in SCHEMAS}
CUT = {"guaranteed: {gpu: 16}": "guaranteed: {gpu: 12}"}
LOAD = LoadComparison(
    "load.yaml",
    "sha256:0",
    "Jobs arrive as recorded.",
    (QueueLoad("", (None, Wait(1.5)), (Wait(2.0), Wait(3.0, True)), (0, 1), (0, 1), (0, 5)),),
    3,
)


def check(name: str, text: str) -> None:
    """Fail if a document does not match its schema."""
    jsonschema.Draft202012Validator(SCHEMA[name], format_checker=jsonschema.FormatChecker()).validate(json.loads(text))


@pytest.fixture
def full(tmp_path: Path) -> Review:
    """A review that has something in every part."""
    found = reviewed(tmp_path, CUT, thresholds=Thresholds(max_evictions=0), digests={"base": "sha256:1"})
    found = with_fates(found, [row("a", Fate.EVICTED), row("b", Fate.UNKNOWN, started=None), row("c", Fate.STUCK)])
    return replace(found, clusters=(replace(found.clusters[0], load=LOAD),))


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_well_formed(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA[name])
    assert SCHEMA[name]["$id"].endswith(f"/{SCHEMAS[name]}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_kind_of_edit_satisfies_the_schemas(case: dict[str, Any], tmp_path: Path) -> None:
    text = POLICY
    for before, after in case["edits"].items():
        text = text.replace(before, after)
    found = policy_review(side(tmp_path, POLICY, "base"), side(tmp_path, text, "head"), ReviewInputs())
    check("diff", diff_json(found.diff))
    check("review", review_json(found))


def test_complete_review_satisfies_the_schema(full: Review) -> None:
    check("review", review_json(full))


def test_unknown_key_violates_the_schema(full: Review) -> None:
    document = json.loads(review_json(full))
    document["clusters"][0]["fates"]["workloads"][0]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        check("review", json.dumps(document))
