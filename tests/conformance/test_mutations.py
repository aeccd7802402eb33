"""Mutated rules of the simulated engines are noticed by the recorded decisions: see the folders `*_random`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.mutant import mutated, mutations, seed_of
from tests.conformance.random_cases import cases

FOLDERS = (
    "ack_random", "koordinator_random", "kubernetes_random", "kueue_random", "volcano_random", "yunikorn_random",
)  # fmt: skip
MUTANT = Path(__file__).parent / "mutant.py"
MUTATIONS = [(folder, each) for folder in FOLDERS for each in mutations(folder)]
NOTICED = [(folder, each["name"], each["noticed_by"]) for folder, each in MUTATIONS if "noticed_by" in each]


@pytest.mark.parametrize("folder", FOLDERS)
def test_mutations_apply(folder: str) -> None:
    for each in mutations(folder):
        spec = importlib.util.find_spec(each["module"])
        assert spec is not None
        assert spec.origin is not None
        source = mutated(each, Path(spec.origin).read_text(encoding="utf-8"))
        compile(source, each["name"], "exec")
        assert ("noticed_by" in each) != ("unnoticed" in each), each["name"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_named_cases_are_recorded(folder: str) -> None:
    seeds = {seed_of(case) for case in cases(folder)}
    assert {each["noticed_by"] for each in mutations(folder) if "noticed_by" in each} <= seeds


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name", "seed"), NOTICED, ids=lambda value: str(value).replace(" ", "-"))
def test_mutation_is_noticed(folder: str, name: str, seed: str) -> None:
    command = [sys.executable, str(MUTANT), folder, name, seed]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert run.stdout.split() == [seed], run.stderr[-2000:]
