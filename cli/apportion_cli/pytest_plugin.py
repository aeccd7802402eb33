"""The pytest plugin of the distribution: simulations in tests, each run once a session.

pytest loads it by its entry point wherever apportion is installed, so it imports nothing that takes time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from apportion_cli.outcomes import Outcome

    Simulate = Callable[..., Outcome]


@pytest.fixture(scope="session")
def _apportion_outcomes() -> dict[tuple[Any, ...], Outcome]:
    """Outcomes by what they are of: the same policy under the same load is simulated once."""
    return {}


@pytest.fixture
def apportion_simulate(request: pytest.FixtureRequest, _apportion_outcomes: dict[tuple[Any, ...], Outcome]) -> Simulate:
    """Return what simulates a policy under a scenario; paths are those beside the test's own file.

    The outcome has the report and assertions about it:

        def test_research_never_waits_long(apportion_simulate):
            outcome = apportion_simulate("policy.py", "last-week.yaml", env="prod", cluster="gpu-eu")
            outcome.assert_waits("research", at_most="30m", gpus=8)
    """
    beside = request.path.parent

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
        key = (str(beside / policy), str(beside / scenario), env, cluster, engine, day)
        if key not in _apportion_outcomes:
            _apportion_outcomes[key] = run(key[0], key[1], env=env, cluster=cluster, engine=engine, as_of=day)
        return _apportion_outcomes[key]

    return simulate
