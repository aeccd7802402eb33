"""Reasons of pending jobs: the engine's own messages, for every job pending after the first round of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.cases.rounds import run_rounds
from apportion_runtime.core.explain.fit_errors import detailed_text

HERE = Path(__file__).parent
NOTED = json.loads((HERE / "engine" / "fit-errors.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("noted", NOTED, ids=lambda noted: f"{noted['file'].removesuffix('.json')}-{noted['number']}")
def test_fit_errors_match_the_engine(noted: dict[str, Any]) -> None:
    case = json.loads((HERE / noted["file"]).read_text(encoding="utf-8"))["cases"][noted["number"]]
    session, _ = next(run_rounds(case))
    assert {name: detailed_text(session.jobs[name].fit_errors) for name in noted["jobs"]} == noted["jobs"]
