"""A scheduler whose SchedulingShard does not exist, or is deleted: it waits for the shard."""

from __future__ import annotations

from apportion_runtime.kube.scheduler_process import Options

from .api_server import ApiServer, running
from .objects import TRAIN, node, pod, queue
from .scheduler_thread import scheduling, until

SHARD = {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": "a100"}, "spec": {}}


def test_pods_wait_until_the_shard_exists() -> None:
    server, log = ApiServer(), list[str]()
    server.add(node("n1", 2), TRAIN, queue("team", None, 2), pod("a", "team", 1))
    options = Options("kai-scheduler", shard="a100", period_s=0.01)
    with running(server) as connection, scheduling(connection, options, log.append):
        until(lambda: "warning: nothing is scheduled: the SchedulingShard a100 does not exist" in log, log)
        assert "nodeName" not in server.pod("a")["spec"]
        server.add(SHARD)
        until(lambda: "nodeName" in server.pod("a")["spec"], log)
        server.remove("/apis/kai.scheduler/v1/schedulingshards/a100")
        server.add(pod("b", "team", 1))
        server.add(SHARD)
        until(lambda: "nodeName" in server.pod("b")["spec"], log)
