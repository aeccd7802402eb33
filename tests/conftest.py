"""Shared fixtures of all tiers: a printed seed, bounded hypothesis profiles, and the flag that rewrites goldens."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.evaluation_template import EvaluationTemplate

DEFAULT_SEED = 20_240_607

settings.register_profile("default", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
settings.load_profile(_PROFILE)
# A change must not fail because of a cluster that only its own run generated.
# CI repeats the same examples, so that more of them cost time in every run and find nothing in the next one.
settings.register_profile("thorough", settings.get_profile(_PROFILE), max_examples=500 if _PROFILE == "ci" else 2_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite expected output instead of comparing")
    parser.addoption("--bench-smoke", action="store_true", help="run benchmarks on small input and judge no ratio")
    parser.addoption("--seed", type=int, default=DEFAULT_SEED, help="seed of Python's global generator in every test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--update-golden`, run only the tests that write: others would read files while they are rewritten."""
    if not config.getoption("--update-golden"):
        return
    writes = [item for item in items if "update_golden" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in writes])
    items[:] = writes


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {config.getoption('--seed')} (repeat with --seed={config.getoption('--seed')})"


@pytest.fixture(scope="session", autouse=True)
def evaluation_without_what_this_machine_lacks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Omit confinement layers that this machine lacks, also in commands that the tests start."""
    from apportion_policy.evaluation import confinement_layers as layers

    lacking = _lacking_layers(tmp_path_factory.mktemp("layers"))
    if not lacking:
        yield
        return
    needed = layers.NEEDED_FOR_UNTRUSTED
    folder = tmp_path_factory.mktemp("start")
    (folder / "sitecustomize.py").write_text(_RELAXED.format(lacking=lacking))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "NEEDED_FOR_UNTRUSTED", tuple(each for each in needed if each.name not in lacking))
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield


_RELAXED = """
from apportion_policy.evaluation import confinement_layers as layers
layers.NEEDED_FOR_UNTRUSTED = tuple(each for each in layers.NEEDED_FOR_UNTRUSTED if each.name not in {lacking!r})
"""


def _lacking_layers(folder: Path) -> tuple[str, ...]:
    from apportion_policy.evaluation.confinement_layers import missing_layers
    from apportion_policy.evaluation.limits import Limits
    from apportion_policy.evaluation.parent import start

    document = folder / "policy.json"
    document.write_text('{"organisation": {"name": "layers"}}')
    outcome = start(document, Limits(allow_missing_layers=True)).result()
    return tuple(layer.name for layer in missing_layers(outcome.layers))


@pytest.fixture(scope="session")
def evaluation_template() -> Iterator[EvaluationTemplate]:
    """The process whose forks evaluate policies; tests that are marked `security` start new interpreters instead."""
    from tests.evaluation_template import EvaluationTemplate

    template = EvaluationTemplate()
    yield template
    template.close()


@pytest.fixture(autouse=True)
def evaluations_from_the_template(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, evaluation_template: EvaluationTemplate
) -> None:
    if request.node.get_closest_marker("security") is None:
        monkeypatch.setattr(os, "posix_spawn", evaluation_template.posix_spawn)
    else:
        # Some of these tests assert that this process has no children.
        evaluation_template.close()


@pytest.fixture(autouse=True)
def fixed_seed(request: pytest.FixtureRequest) -> int:
    """The seed printed in the header, already passed to `random`; seed a numpy generator with it explicitly."""
    seed: int = request.config.getoption("--seed")
    random.seed(seed)
    return seed


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected files are to be rewritten; a test that rewrites one must not then compare against it."""
    return bool(request.config.getoption("--update-golden"))
