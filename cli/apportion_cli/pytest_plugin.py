"""The pytest plugin of the distribution: simulations in tests, each run once a session.

pytest loads it by its entry point whenever apportion is installed, so it must import quickly.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from apportion_cli.outcomes import Outcome

    Simulate = Callable[..., Outcome]


ALLOW_MISSING_LAYERS = "--apportion-allow-missing-layers"
POLICIES = "--apportion-policies"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options: one for reviewed policies on systems that lack a sandbox layer, one for policies of another directory."""
    group = parser.getgroup("apportion")
    group.addoption(
        POLICIES,
        metavar="FOLDER",
        help="simulate the policies in this directory instead of those at the same relative paths in pytest's root directory",
    )
    group.addoption(
        ALLOW_MISSING_LAYERS,
        action="store_true",
        help="evaluate reviewed policies even if the system lacks a sandbox layer",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Reject the option if it is set by a file (`addopts`) or a variable instead of the command line.

    Raises:
        pytest.UsageError: If it is not on the command line.
    """
    # A worker of pytest-xdist gets the options of its controller, which has checked them.
    was_given = hasattr(config, "workerinput") or ALLOW_MISSING_LAYERS in config.invocation_params.args
    if config.getoption(ALLOW_MISSING_LAYERS) and not was_given:
        raise pytest.UsageError(f"{ALLOW_MISSING_LAYERS} must be passed on the command line, without abbreviation")


@pytest.fixture(scope="session")
def _apportion_outcomes() -> dict[tuple[Any, ...], Outcome]:
    """Outcomes by input: the same policy under the same load is simulated once."""
    return {}


@pytest.fixture
def apportion_simulate(request: pytest.FixtureRequest, _apportion_outcomes: dict[tuple[Any, ...], Outcome]) -> Simulate:
    """Return a function that simulates a policy under a scenario; paths are relative to the test file.

    The outcome has the report and assertions about it:

        def test_research_never_waits_long(apportion_simulate):
            outcome = apportion_simulate("policy.py", "last-week.yaml", env="prod", cluster="gpu-eu")
            outcome.assert_waits("research", at_most="30m", gpus=8)
    """
    beside = request.path.parent
    other = request.config.getoption(POLICIES)

    def simulate(
        policy: str | Path,
        scenario: str | Path,
        *,
        env: str | None = None,
        cluster: str | None = None,
        engine: str | None = None,
        as_of: str | date | None = None,
    ) -> Outcome:
        from apportion_cli.outcomes import run

        day = date.fromisoformat(as_of) if isinstance(as_of, str) else as_of
        path = beside / policy
        if other is not None:
            path = _same_path(path, request.config.rootpath, request.config.invocation_params.dir / other)
        key = (str(path), str(beside / scenario), env, cluster, engine, day)
        if key not in _apportion_outcomes:
            _apportion_outcomes[key] = run(
                key[0],
                key[1],
                env=env,
                cluster=cluster,
                engine=engine,
                as_of=day,
                allow_missing_layers=request.config.getoption(ALLOW_MISSING_LAYERS),
            )
        return _apportion_outcomes[key]

    return simulate


def _same_path(path: Path, root: Path, other: Path) -> Path:
    """Return the path below `other` that corresponds to a path below `root`.

    Raises:
        pytest.UsageError: If it is not below `root`.
    """
    # Links of the root folder are trusted; the evaluation rejects those of the other folder.
    normal = Path(os.path.normpath(path))
    if not normal.is_relative_to(root):
        raise pytest.UsageError(f"{POLICIES}: the policy {normal} is outside pytest's root directory {root}")
    return other / normal.relative_to(root)
