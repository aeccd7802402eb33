"""Mutated rules of the simulated engines are noticed by the recorded decisions: see the folders `*_random`."""

from __future__ import annotations

import importlib.util
import json
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from tests.conformance.mutant import mutated, mutations, seed_of
from tests.conformance.random_cases import cases

FOLDERS = (
    "ack_random", "koordinator_random", "kubernetes_random", "kueue_random", "volcano_random", "yunikorn_random",
)  # fmt: skip
MUTANT = Path(__file__).parent / "mutant.py"
TIMEOUT_S = 120
MUTATIONS = [(folder, each) for folder in FOLDERS for each in mutations(folder)]
NOTICED = [(folder, each["name"], each["noticed_by"]) for folder, each in MUTATIONS if "noticed_by" in each]
ONE_EACH = list(
    {
        (folder, each["module"]): (folder, each["name"], each["noticed_by"])
        for folder, each in MUTATIONS
        if "noticed_by" in each
    }.values()
)
"""A mutation of each module."""


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


@pytest.fixture(scope="session")
def first_to_notice() -> Iterator[Callable[..., str]]:
    """Return what `mutant.py` prints for a folder, the name of a mutation, the seed of a case and whether it mutates."""
    with ExitStack() as running:

        @cache
        def program(folder: str) -> subprocess.Popen[str]:
            command = [sys.executable, str(MUTANT), folder]
            return running.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            )

        def ask(folder: str, name: str, seed: str, *, mutates: bool = True) -> str:
            asked = program(folder)
            assert asked.stdin is not None
            assert asked.stdout is not None
            asked.stdin.write(json.dumps([name, mutates, seed]) + "\n")
            with selectors.DefaultSelector() as answers:
                answers.register(asked.stdout, selectors.EVENT_READ)
                assert answers.select(timeout=TIMEOUT_S), f"no answer within {TIMEOUT_S} s"
            return asked.stdout.readline().strip()

        yield ask


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name", "seed"), NOTICED, ids=lambda value: str(value).replace(" ", "-"))
def test_mutation_is_noticed(folder: str, name: str, seed: str, first_to_notice: Callable[..., str]) -> None:
    assert first_to_notice(folder, name, seed) == seed


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name", "seed"), ONE_EACH, ids=lambda value: str(value).replace(" ", "-"))
def test_a_module_imported_again_decides_as_recorded(
    folder: str, name: str, seed: str, first_to_notice: Callable[..., str]
) -> None:
    assert first_to_notice(folder, name, seed, mutates=False) == ""
