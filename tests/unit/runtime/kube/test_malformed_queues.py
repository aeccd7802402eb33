"""Malformed queues of a live scheduler: what its log and the conditions of the waiting pods say, and that others are scheduled."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from apportion_runtime.kube.scheduler_process import Options

from .api_server import ApiServer, running
from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, node, pod, pod_group, queue
from .scheduler_thread import scheduling, until

Object = dict[str, Any]
_BOUND = "Use -1 for unlimited, or an amount of 0 or more."


def _queue(name: str, parent: str | None = None, **spec: Any) -> Object:
    made = queue(name, parent, 4)
    made["spec"].update(spec)
    return made


def _gpu(**amounts: Any) -> Object:
    return {"gpu": amounts}


CASES: dict[str, tuple[tuple[Object, ...], str, str, str]] = {
    "cycle": (
        (_queue("a", "b"), _queue("b", "c"), _queue("c", "a")),
        "a",
        ("Queue a is ignored: its parents form a cycle (a → b → c → a). "
        "Remove `parentQueue` from one of these queues, or set it to a queue outside the cycle."),
        ("queue a: the parents of queue `a` form a cycle: a → b → c → a; "
        "remove `parentQueue` from one of these queues, or set it to a queue outside the cycle"),
    ),
    "below a cycle": (
        (_queue("a", "b"), _queue("b", "a"), _queue("low", "a")),
        "low",
        ("Queue low is ignored: the parents of its ancestor a form a cycle (a → b → a). "
        "Remove `parentQueue` from one of these queues, or set it to a queue outside the cycle."),
        ("queue a: the parents of queue `a` form a cycle: a → b → a; "
        "remove `parentQueue` from one of these queues, or set it to a queue outside the cycle"),
    ),
    "own parent": (
        (_queue("a", "a"),),
        "a",
        ("Queue a is ignored: it is its own parent. "
        "Remove `parentQueue` from queue a, or set it to another queue."),
        "queue a: queue `a` is its own parent; remove `parentQueue` from queue a, or set it to another queue",
    ),
    "below one that is its own parent": (
        (_queue("a", "a"), _queue("low", "a")),
        "low",
        ("Queue low is ignored: its ancestor a is its own parent. "
        "Remove `parentQueue` from queue a, or set it to another queue."),
        "queue a: queue `a` is its own parent; remove `parentQueue` from queue a, or set it to another queue",
    ),
    "missing parent": (
        (_queue("a", "gone"),),
        "a",
        "Queue a is ignored: its parent gone does not exist. Create queue gone, or change `parentQueue` of queue a.",
        ("queue a: parent queue `gone` does not exist; the engine ignores the queue and its descendants; "
        "use an existing name: all, open"),
    ),
    "missing grandparent": (
        (_queue("a", "gone"), _queue("low", "a")),
        "low",
        ("Queue low is ignored: gone, the parent of its ancestor a, does not exist. "
        "Create queue gone, or change `parentQueue` of queue a."),
        ("queue a: parent queue `gone` does not exist; the engine ignores the queue and its descendants; "
        "use an existing name: all, open"),
    ),
    "wrong type": (
        (_queue("a", resources=_gpu(quota="four")),),
        "a",
        ("Queue a is ignored: `spec.resources.gpu.quota`: expected a finite number, found the string `four`. "
        "Correct `spec.resources.gpu.quota`."),
        ("queue a: `spec.resources.gpu.quota`: expected a finite number, found the string `four`; "
        "correct `spec.resources.gpu.quota`"),
    ),
    "parent of wrong type": (
        (_queue("a", resources=_gpu(quota="four")), _queue("low", "a")),
        "low",
        ("Queue low is ignored: its ancestor a cannot be read. "
        "Queue a is ignored: `spec.resources.gpu.quota`: expected a finite number, found the string `four`. "
        "Correct `spec.resources.gpu.quota`."),
        ("queue a: `spec.resources.gpu.quota`: expected a finite number, found the string `four`; "
        "correct `spec.resources.gpu.quota`"),
    ),
    "negative limit": (
        (_queue("a", resources=_gpu(quota=4, limit=-2)),),
        "a",
        ("Queue a has reached the allowable limit of GPUs. Limit is -2 GPUs, currently 0 GPUs allocated and workload "
        "requested 1 GPUs. In queue a, `spec.resources.gpu.limit: -2` is negative: no job that requests gpu can start "
        f"in the queue. {_BOUND}"),
        ("queue a: `spec.resources.gpu.limit: -2` is negative: no job that requests gpu can start in the queue; "
        "use -1 for unlimited, or an amount of 0 or more"),
    ),
    "child queues": (
        (_queue("a"), _queue("low", "a")),
        "a",
        "Queue a has child queues; only leaf queues run jobs. Use one of its child queues: low.",
        "",
    ),
    "missing queue": (
        (),
        "gone",
        "Queue gone does not exist. Create it, or use an existing queue.",
        "",
    ),
    "no queue": ((), "", "The job does not name a queue. Set the queue of the workload.", ""),
}  # fmt: skip
"""Queues, the queue of a pod, its message, and the line in the log."""


def _objects(queues: tuple[Object, ...], of: str) -> list[Object]:
    bad = pod("bad", of, 1, **{"pod-group-name": "pg-bad"})
    good = pod("good", "open", 1, **{"pod-group-name": "pg-good"})
    valid = (queue("all", None, 8), queue("open", "all", 8))
    return [
        node("n1", 8),
        TRAIN,
        *valid,
        *queues,
        pod_group("pg-bad", of, 1),
        pod_group("pg-good", "open", 1),
        bad,
        good,
    ]


@pytest.mark.parametrize("name", CASES)
def test_waiting_pod_has_the_fault_of_its_queue_and_the_cure(name: str) -> None:
    queues, of, message, _ = CASES[name]
    cluster = Memory(*_objects(queues, of))
    run_cycle(cluster, NOW)
    assert cluster.told == {"bad": message}
    assert ("pg-bad", "Unschedulable", message) in cluster.events
    assert cluster.node_of("good") == "n1"


@pytest.mark.parametrize("name", [name for name, (*_, line) in CASES.items() if line])
def test_faults_of_queues_are_kept_while_no_queue_changes(name: str) -> None:
    queues, of, _, line = CASES[name]
    cluster = Memory(*_objects(queues, of))
    first = run_cycle(cluster, NOW).cluster_faults
    more = {
        "parent of wrong type": [
            (
                "queue low: parent queue `a` cannot be read; the engine ignores the queue and its descendants; "
                "correct queue `a`"
            )
        ]
    }
    told = [f"{fault.address}: {fault.message}; {fault.hint}" for fault in first]
    assert told == [line, *more.get(name, [])]
    assert run_cycle(cluster, NOW + 1).cluster_faults is first


def test_log_has_a_fault_once_when_it_appears_and_once_when_it_is_gone() -> None:
    server, log = ApiServer(), list[str]()
    server.add(node("n1", 8), TRAIN, queue("all", None, 8), queue("open", None, 8), _queue("a", "a"))
    line = CASES["own parent"][3]
    options = Options("kai-scheduler", period_s=0.01)

    def schedules(name: str) -> None:
        server.add(pod(name, "open", 1))
        until(lambda: "nodeName" in server.pod(name)["spec"], log)

    def is_logged(text: str, times: int) -> bool:
        return log.count(text) == times

    with running(server) as connection, scheduling(connection, options, log.append):
        for round_ in range(3):
            until(partial(is_logged, f"warning: {line}", round_ + 1), log)
            # Other queues change, so that all objects are read again.
            server.add(_queue(f"other-{round_}", "all"))
            schedules(f"one-{round_}")
            path = "/apis/scheduling.run.ai/v2/queues/a"
            server.put(path, {**server.held[path], "spec": _queue("a", "all")["spec"]}, "MODIFIED")
            until(partial(is_logged, f"resolved: {line}", round_ + 1), log)
            schedules(f"two-{round_}")
            server.put(path, {**server.held[path], "spec": _queue("a", "a")["spec"]}, "MODIFIED")
    assert log.count(f"resolved: {line}") == 3
