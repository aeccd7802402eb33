"""Memory of the live scheduler stays flat while pods come and go."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from threading import Event

import pytest

from apportion_runtime.kube.garbage_collection import collected_between_cycles
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler import Scheduling, run_cycle
from apportion_runtime.kube.scheduler_process import Options, run
from apportion_runtime.kube.write_pool import WritePool

from .api_server import ApiServer, running
from .memory_cluster import Memory
from .objects import NOW, TRAIN, node, pod, queue

_WARM, _LAST = 20, 320
_MANY_CYCLES = 10_000
_MOST_BLOCKS_PER_CYCLE = 50
"""Blocks of the allocator: bounded caches of texts fill with some 20. A session of this cluster has some 3,000."""


class _Churn(Event):
    """Replaces a pod whenever all devices are in use, and counts the allocated blocks."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__()
        self.blocks: list[int] = []
        self._server = server

    def is_set(self) -> bool:
        held = self._server.held
        bound = [path for path, made in list(held.items()) if made.get("spec", {}).get("nodeName")]
        if len(bound) == 8:
            self._server.forget_history()
            for path in [path for path in list(held) if "/events/" in path]:
                self._server.remove(path)
            if len(self.blocks) in (_WARM, _LAST):
                # The scheduler does so every two minutes; objects that outlive a cycle are not collected after it.
                gc.collect()
            self.blocks.append(sys.getallocatedblocks())
            group = held[bound[0]]["metadata"]["annotations"]["pod-group-name"]
            self._server.remove(bound[0])
            self._server.remove(f"/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups/{group}")
            self._server.add(pod(f"pod-{len(self.blocks)}", "team", 1))
        return len(self.blocks) > _LAST

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
    churn = _Churn(server)
    options = Options("kai-scheduler", period_s=0)
    with running(server) as connection:
        run(connection, options, None, counters, say=lambda _: None, ended=churn)
    assert (counters.metrics.registry.get_sample_value("apportion_scheduler_bind_latency_seconds_count") or 0) >= _LAST
    assert churn.blocks[_LAST] - churn.blocks[_WARM] < _MOST_BLOCKS_PER_CYCLE * (_LAST - _WARM)


@pytest.mark.usefixtures("no_automatic_collection")
def test_session_that_a_changed_node_replaces_is_freed_at_once() -> None:
    cluster = Memory(node("n1", 8), TRAIN, queue("team", None, 8), *(pod(f"pod-{n}", "team", 1) for n in range(50)))
    pool, blocks = WritePool(2, cluster.failures.append), []
    scheduling = Scheduling(cluster, pool)
    for number in range(21):
        machine = node("n1", 8)
        machine["metadata"]["labels"]["round"] = str(number)
        cluster.held["Node", "", "n1"] = machine
        run_cycle(scheduling, NOW)
        if number in (10, 20):
            blocks.append(sys.getallocatedblocks())
    pool.stop()
    # A session of 50 pods takes some 2,000 blocks.
    assert blocks[1] - blocks[0] < 10 * 200


@pytest.mark.slow
@pytest.mark.usefixtures("no_automatic_collection")
def test_ten_thousand_cycles_of_churn_allocate_no_memory_for_good() -> None:
    """Pods come, wait, run and go; what a scheduler keeps between cycles does not grow with their number."""
    cluster = Memory(node("n1", 8), TRAIN, queue("team", None, 8))
    pool, blocks, n_bound = WritePool(2, cluster.failures.append), [], 0
    scheduling = Scheduling(cluster, pool)
    with collected_between_cycles() as collect:
        for number in range(_MANY_CYCLES + 1):
            if number in (_MANY_CYCLES // 10, _MANY_CYCLES):
                gc.collect()
                blocks.append(sys.getallocatedblocks())
            name = f"pod-{number}"
            cluster.held["Pod", "team", name] = pod(name, "team", 1)
            # A bounded cache holds the texts of times.
            n_bound += len(run_cycle(scheduling, NOW + number // 1000).bound)
            bound = [key for key, made in cluster.held.items() if key[0] == "Pod" and made["spec"].get("nodeName")]
            if len(bound) == 8:
                group = cluster.held.pop(bound[0])["metadata"]["annotations"]["pod-group-name"]
                del cluster.held["PodGroup", "team", group]
            # Of the test's cluster.
            cluster.events.clear()
            cluster.told.clear()
            collect(0.0)
    pool.stop()
    assert (cluster.failures, n_bound) == ([], _MANY_CYCLES + 1)
    assert blocks[1] - blocks[0] < _MANY_CYCLES / 10
