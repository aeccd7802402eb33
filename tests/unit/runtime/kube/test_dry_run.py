"""A dry run decides and reports, and sends no write."""

from __future__ import annotations

from collections.abc import Callable

from apportion_runtime.kube.gpu_reservation import ReservationSettings
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.scheduler_process import Options

from .api_server import ApiServer, running
from .cycle_counts import n_cycles
from .objects import TRAIN, TREE, node, pod
from .scheduler_thread import scheduling, until
from .sharing_pods import sharing

OPTIONS = Options(
    "kai-scheduler", period_s=0.01, is_dry_run=True, reservation=ReservationSettings("registry.example/reservation:v1")
)


def _run(server: ApiServer, use: Callable[[Counters, list[str]], None]) -> list[str]:
    """Run a dry run until the function returns, and return the log."""
    counters, log = Counters(), list[str]()
    with running(server) as connection, scheduling(connection, OPTIONS, log.append, counters=counters):
        use(counters, log)
    return log


def test_dry_run_reports_binds_and_evictions_and_sends_no_writes() -> None:
    server = ApiServer()
    # The queue nlp uses all four GPUs, two above its guarantee, which a pod of vision reclaims; a CPU pod fits.
    placed = [pod(name, "nlp", 2, on="n1", **{"pod-group-name": f"pg-{name}"}) for name in ("b1", "b2")]
    groups = [_group(f"pg-{name}") for name in ("b1", "b2")]
    server.add(node("n1", 4), TRAIN, *TREE, *groups, *placed, pod("mine", "vision", 2), pod("cpu", "vision", 0))

    def use(counters: Counters, log: list[str]) -> None:
        until(lambda: any("dry run: evicted 1 pod for team/pg-mine-uid-mine " in line for line in log), log)
        until(lambda: any("dry run: bound 1 pod of team/pg-cpu-uid-cpu to n1" in line for line in log), log)
        # A further cycle decides the same, which is not reported again.
        before = n_cycles(counters)
        server.add({**pod("other", "nlp", 0), "spec": {"schedulerName": "default-scheduler", "containers": []}})
        until(lambda: n_cycles(counters) > before and _is_reported(counters), log)

    log = _run(server, use)
    assert [sent for sent in server.sent if sent.method != "GET"] == []
    assert len([line for line in log if line.startswith("dry run: evicted")]) == 1
    assert len([line for line in log if line.startswith("dry run: bound")]) == 1
    assert not any("leader" in line for line in log)


def test_dry_run_reports_pods_that_share_gpus_without_reserving_any() -> None:
    server = ApiServer()
    server.add(node("n1", 1), TRAIN, *TREE, *(sharing(name, queue="nlp") for name in ("a", "b", "c")))

    def use(counters: Counters, log: list[str]) -> None:
        until(lambda: sum("dry run: bound 1 pod of team/pg-" in line for line in log) == 2, log)
        before = n_cycles(counters)
        server.add({**pod("other", "nlp", 0), "spec": {"schedulerName": "default-scheduler", "containers": []}})
        until(lambda: n_cycles(counters) > before, log)

    log = _run(server, use)
    assert [sent for sent in server.sent if sent.method != "GET"] == []
    assert len([line for line in log if line.startswith("dry run: bound")]) == 2


def _is_reported(counters: Counters) -> bool:
    """Return whether the metrics count the eviction in each cycle, and show the queue."""
    value = counters.metrics.registry.get_sample_value
    evicted = value("apportion_scheduler_pods_evicted_total", {"action": "reclaim"})
    guaranteed = value("apportion_scheduler_queue_gpus_guaranteed", {"queue": "nlp"})
    return evicted == n_cycles(counters) and guaranteed == 2


def _group(name: str) -> dict[str, object]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
        "spec": {"queue": "nlp", "minMember": 1, "priorityClassName": "train"},
    }
