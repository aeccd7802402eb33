"""Volcano's own tables of its queue webhook: the rules accept and reject the same objects, for the same reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.volcano.rules import RULES

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "volcano" / "queue-hierarchy-validation.json").read_text(encoding="utf-8")
)


def test_number_of_cases() -> None:
    assert len(CASES) == 13


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    queue = case["queue"]
    messages = [v.message for v in RULES.check([queue], _cluster(case)) if v.effect is Effect.REJECTED]
    if case["valid"]:
        assert messages == []
    else:
        assert any(case["errorContains"] in message for message in messages), messages


def _cluster(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the existing queues that the webhook finds.

    If a table lists the children separately, the webhook receives only these.
    """
    name = case["queue"]["metadata"]["name"]
    others = [q for q in case["otherQueues"] if q["metadata"]["name"] != name]
    if "children" not in case:
        return others
    children = case["children"]
    named = {q["metadata"]["name"] for q in children}
    return [
        *(q for q in others if q["spec"].get("parent") != name and q["metadata"]["name"] not in named),
        *children,
    ]
