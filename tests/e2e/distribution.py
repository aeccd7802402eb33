"""The order of the tests, and which of them share a worker and thereby its control planes.

A worker starts a control plane when the first test asks for it. Everything with Kueue is one group, so that only one
worker runs Kueue. So is each folder, which has a control plane of its own. Of the other tests, each module is a group.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from .compiled_trees import policies, runs_kueue

_KUEUE = "kueue"
_LONGEST_FIRST = (
    _KUEUE,
    "scheduler_faults",
    "test_gpu_sharing",
    "test_scheduler",
    "test_changes",
    "test_examples",
    "test_bind",
    "test_prune",
)
"""Groups begin with these names. The others are short: at the end, one worker waits for the last group of the other."""
_WITH_KUEUE = frozenset(f"{folder.parent.name}-{folder.name}" for folder in policies() if runs_kueue(folder))


class GroupScheduling(LoadScopeScheduling):
    """Gives a worker one group after another, in their order."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


def sort_by_group(items: list[pytest.Item]) -> None:
    """Sort tests by the group that starts first; within a group, the order is kept."""
    names = list(dict.fromkeys(_group(item.nodeid) for item in items))
    names.sort(key=_rank)
    items.sort(key=lambda item: names.index(_group(item.nodeid)))


def _group(nodeid: str) -> str:
    path = Path(nodeid.partition("::")[0])
    module = path.stem if path.parent.name == Path(__file__).parent.name else path.parent.name
    parameters = nodeid.partition("[")[2].rstrip("]")
    # The engine is the first parameter, and a policy the only one.
    needs_kueue = module.startswith("test_kueue") or parameters.split("-")[0] == _KUEUE or parameters in _WITH_KUEUE
    return _KUEUE if needs_kueue else module


def _rank(group: str) -> int:
    return next((rank for rank, name in enumerate(_LONGEST_FIRST) if group.startswith(name)), len(_LONGEST_FIRST))
