"""KAI Scheduler's own decision tables: the core decides like the engine in every case with an expectation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.cases.reader import settings_of, snapshot_of
from apportion_runtime.cases.rounds import run_rounds
from apportion_runtime.core.cycle import cycle

from .expectations import mismatches

FILES = sorted(path for path in Path(__file__).parent.glob("*.json") if path.name != "INDEX.json")
# Tables with GPU groups that no engine can produce; the engine itself does not compare them. All else is compared.
IMPOSSIBLE_GROUPS = {
    ("allocate__allocateFractionalGpu", 19): "expects spreading over devices, where the default plugins pack them",
    ("consolidation__consolidationGpuMemory", 0): "puts 30 MiB and 80 MiB on a device of 100 MiB",
}
CASES = [
    pytest.param(case, (name, case["index"]) not in IMPOSSIBLE_GROUPS, id=f"{name}-{case['index']}-{number}")
    for path, name in ((path, path.stem.removeprefix("actions__")) for path in FILES)
    for number, case in enumerate(json.loads(path.read_text(encoding="utf-8"))["cases"])
    if "no_expectation" not in case
]


@pytest.mark.parametrize(("case", "compare_groups"), CASES)
def test_decisions_match_the_engine(case: dict[str, Any], *, compare_groups: bool) -> None:
    rounds = run_rounds(case)
    session, following = next(rounds)
    for _ in range(case["rounds_until_match"] - 1):
        session, following = next(rounds)
    if case["kind"] == "unit":
        assert list(mismatches(session, case, rebuilt=False, compare_groups=compare_groups)) == []
        return
    rebuilt = cycle(snapshot_of(following), replace(settings_of(following), actions=()))
    for name, job in session.jobs.items():
        rebuilt.jobs[name].fit_errors = job.fit_errors
    assert list(mismatches(rebuilt, case, rebuilt=True, compare_groups=compare_groups)) == []
    for _ in range(case["rounds_after_match"]):
        session, following = next(rounds)
        assert list(mismatches(session, case, rebuilt=False, compare_groups=compare_groups)) == []


def test_number_of_cases() -> None:
    index = json.loads((Path(__file__).parent / "INDEX.json").read_text(encoding="utf-8"))
    assert {path.name for path in FILES} == {entry["json"] for entry in index}
    assert sum(len(json.loads(path.read_text(encoding="utf-8"))["cases"]) for path in FILES) == 456
