"""Two queues that reclaim in turn under Volcano, with the configuration that Apportion writes.

Queue `a` is within its guarantee, but its department holds more of its own than that of `c`: allocate gives each GPU that
`a` reclaims back to `c`. Volcano's own scheduler (v1.16.0-alpha.1-42-ged72c7c81, in process, with its capacity, gang,
priority, conformance, predicates and nodeorder plugins) was given these objects in 60 sessions, one for each second, with
pods that take two seconds to end, and replacements that are created at once: it evicted one pod in each session, and never
placed the pod of `a`. `EVENTS` are its binds and evictions in the first sessions.
"""

from __future__ import annotations

from typing import Any

from tests.unit.review.volcano_objects import GPU
from tests.unit.review.volcano_tree_objects import objects_of

from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Scenario, Timing, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of

EVENTS = [
    (0, "evicted", "c4"), (1, "evicted", "c3"), (2, "bound", "c3"), (2, "evicted", "c2"), (3, "bound", "c2"), (3, "evicted", "c3"),
    (4, "bound", "c3"), (4, "evicted", "c2"), (5, "bound", "c2"), (5, "evicted", "c3"), (6, "bound", "c3"), (6, "evicted", "c2"),
]  # fmt: skip
_SESSIONS = 60
_BEGINS = 10


def _queue(parent: str, deserved: int) -> dict[str, Any]:
    return {"parent": parent, "deserved": {GPU: deserved}, "guarantee": {}, "capability": {}}


def _work(name: str, queue: str, node: str = "", at: float = 1.0) -> Work:
    short = WorkloadFields(
        "Job", name, "ns", queue, "", Size("1", "1Gi", 1), 1, 1, workload_labels=VOLCANO.workload_labels
    )
    made = manifest_of(short)
    if node:
        made["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return Work(made, arrives_s=at, work_s=10_000.0)


def test_queues_reclaim_in_turn_as_under_volcano() -> None:
    deserved = {"d0": ("root", 4), "d1": ("root", 4), "d2": ("root", 2), "a": ("d0", 2), "b": ("d0", 2), "c": ("d1", 4)}
    cluster: dict[str, Any] = {
        "nodes": [{"name": f"n{i}", "gpu": 5, "cpu": 64, "mem": 256, "model": "l4"} for i in range(2)],
        "queues": {name: _queue(*each) for name, each in deserved.items()} | {"e": _queue("d2", 2)},
        "classes": {}, "grouped": False, "levels": 1, "placement": "MostAllocated", "weight": 0, "jobs": [],
    }  # fmt: skip
    works = [_work(f"b{i}", "b", "n1") for i in range(5)] + [_work(f"c{i}", "c", "n0") for i in range(5)]
    works.append(_work("a", "a", at=_BEGINS))
    timing = Timing(container_start_s=0.0, grace_s=2.0)
    history = Cluster(
        list(objects_of(cluster)), Scenario((), tuple(works), timing=timing, until_s=_BEGINS + _SESSIONS - 0.5), VOLCANO
    ).run()
    found = [
        (round(fact.at_s) - _BEGINS, fact.what, fact.workload)
        for fact in history.facts
        if fact.what in ("bound", "evicted") and fact.at_s >= _BEGINS
    ]
    assert sorted(found)[: len(EVENTS)] == EVENTS
    assert len(history.taken) == _SESSIONS
    assert {(taken.queue, taken.for_queue) for taken in history.taken} == {("c", "a")}
    assert not any(what == "bound" and name == "a" for _, what, name in found)
