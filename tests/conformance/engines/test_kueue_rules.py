"""Kueue's own table of accepted and rejected objects of its webhooks: `kueue/README.md` has its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_compiler.engines.kueue.rules import RULES

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "kueue" / "webhook-validation.json").read_text(encoding="utf-8")
)


def test_number_of_cases() -> None:
    assert len(CASES) == 50
    assert sum(not case["valid"] for case in CASES) == 27


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}: {case['name']}")
def test_verdict_matches_the_webhook(case: dict[str, Any]) -> None:
    stored = [case["oldObject"]] if case["operation"] == "update" else []
    refused = [v for v in RULES.check([case["object"]], stored) if v.effect is Effect.REJECTED]
    assert (not refused) == case["valid"]
    # One verdict for each error of the webhook, and no others.
    assert len(refused) == len(case["wantErrors"])
    for wanted in case["wantErrors"]:
        assert any(_is(verdict, wanted) for verdict in refused), (wanted, refused)


def _is(verdict: Verdict, wanted: dict[str, str]) -> bool:
    return (
        verdict.kind == wanted["type"]
        and wanted["field"] in ("None", verdict.field)
        and wanted.get("detail", verdict.message) == verdict.message
    )
