"""A scheduler whose SchedulingShard does not exist, or is deleted: it waits for the shard."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread

from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler_process import Options, run

from .api_server import ApiServer, running
from .objects import TRAIN, node, pod, queue

SHARD = {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": "a100"}, "spec": {}}


def _until(reached: Callable[[], bool], log: list[str]) -> None:
    deadline = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline, log
        time.sleep(0.01)


def test_pods_wait_until_the_shard_exists() -> None:
    server, log, ended = ApiServer(), list[str](), Event()
    server.add(node("n1", 2), TRAIN, queue("team", None, 2), pod("a", "team", 1))
    options = Options("kai-scheduler", shard="a100", period_s=0.01)
    with running(server) as connection:
        thread = Thread(target=lambda: run(connection, options, None, Counters(), say=log.append, ended=ended))
        thread.start()
        try:
            _until(lambda: "warning: nothing is scheduled: the SchedulingShard a100 does not exist" in log, log)
            assert "nodeName" not in server.pod("a")["spec"]
            server.add(SHARD)
            _until(lambda: "nodeName" in server.pod("a")["spec"], log)
            server.remove("/apis/kai.scheduler/v1/schedulingshards/a100")
            server.add(pod("b", "team", 1))
            server.add(SHARD)
            _until(lambda: "nodeName" in server.pod("b")["spec"], log)
        finally:
            ended.set()
            thread.join()
