"""Koordinator's webhook and the rules give the same results and messages for every case of its own table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.engine_rules.verdict import Effect, Manifest
from apportion_compiler.engines.koordinator.rules import RULES

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "koordinator" / "quota-self-validation.json").read_text(encoding="utf-8")
)
_PREFIX = "quota.scheduling.koordinator.sh"


def _manifest(quota: dict[str, Any]) -> Manifest:
    annotations = {
        f"{_PREFIX}/{key}": json.dumps(quota[field])
        for key, field in (
            ("shared-weight", "sharedWeight"),
            ("max-strict-check-resource-keys", "maxStrictCheckResourceKeys"),
        )
        if field in quota
    }
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": quota["name"], "namespace": "default", "annotations": annotations},
        "spec": {field: quota[field] for field in ("min", "max") if field in quota},
        "status": {"used": quota["used"]} if "used" in quota else {},
    }


def test_number_of_cases() -> None:
    assert len(CASES) == 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_verdict_matches_the_webhook(case: dict[str, Any]) -> None:
    verdicts = list(RULES.check([_manifest(case["quota"])], ()))
    rejected = [verdict.message for verdict in verdicts if verdict.effect is Effect.REJECTED]
    assert rejected == ([] if case["valid"] else [case["wantError"]])
