"""Volcano's own table of shares by its capacity plugin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.engines.volcano.capacity import share

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "volcano" / "capacity-share.json").read_text(encoding="utf-8")
)
_GIBIBYTE = 2**30


def _units(quantities: Mapping[str, str]) -> dict[str, int]:
    return {
        name: int(float(text.removesuffix("Gi")) * (_GIBIBYTE if name == "memory" else 1000))
        for name, text in quantities.items()
    }


def test_number_of_cases() -> None:
    assert len(CASES) == 17


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_share(case: dict[str, Any]) -> None:
    assert share(_units(case["allocated"]), _units(case["deserved"])) == case["wantShare"]
