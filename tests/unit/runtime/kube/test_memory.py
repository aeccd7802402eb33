"""Memory of the live scheduler stays flat while pods come and go."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from threading import Event

import pytest

from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler_process import Options, run

from .api_server import ApiServer, running
from .objects import TRAIN, node, pod, queue

_WARM, _LAST = 20, 320
_MOST_BLOCKS_PER_CYCLE = 20
"""Blocks of the allocator; a session of this cluster has some 5,000."""


class _Churn(Event):
    """Replaces a pod before each cycle, and counts the allocated blocks after it."""

    def __init__(self, server: ApiServer, counters: Counters) -> None:
        super().__init__()
        self.blocks: dict[int, int] = {}
        self._server = server
        self._counters = counters

    def is_set(self) -> bool:
        cycle = self._counters.cycles
        if cycle not in self.blocks:
            self._server.forget_history()
            self.blocks[cycle] = sys.getallocatedblocks()
            self._replace(cycle)
        return cycle > _LAST

    def _replace(self, cycle: int) -> None:
        bound = [path for path, made in self._server.held.items() if made.get("spec", {}).get("nodeName")]
        if len(bound) == 8:
            group = self._server.held[bound[0]]["metadata"]["annotations"]["pod-group-name"]
            self._server.remove(bound[0])
            self._server.remove(f"/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/{group}")
            self._server.add(pod(f"pod-{cycle}", "team", 1))

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0.001)


@pytest.fixture
def no_automatic_collection() -> Iterator[None]:
    """The command line turns it off."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_automatic_collection")
def test_three_hundred_cycles_of_churn_allocate_no_memory_for_good() -> None:
    server, counters = ApiServer(), Counters(is_leader=True)
    server.add(node("n1", 8), TRAIN, queue("team", None, 8), *(pod(f"first-{n}", "team", 1) for n in range(12)))
    churn = _Churn(server, counters)
    with running(server) as connection:
        run(connection, Options("kai-scheduler", period_s=0, idle_s=0), None, counters, say=lambda _: None, ended=churn)
    assert counters.bound > 100
    grown = churn.blocks[_LAST] - churn.blocks[_WARM]
    assert grown < _MOST_BLOCKS_PER_CYCLE * (_LAST - _WARM)
