"""Reasons of pending jobs: the text of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from apportion_runtime.core.explain.documents import document
from apportion_runtime.core.explain.pending import pending_jobs, why_pending
from apportion_runtime.core.explain.text import wrapped
from apportion_runtime.core.pod_constraints import Expression, NodeTerm, PodTerm, Taint
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Node, SubGroup, Topology, TopologyConstraint
from apportion_runtime.core.status import GATED

from .clusters import NOW, job, node, queue, run

TAINTED = (Taint("reserved", "yes", "NoSchedule"),)
H100 = (NodeTerm((Expression("model", "In", ("h100",)),)),)
LIMITED = [queue("org", quota=8, limit=2), queue("q", "org", quota=4)]
TWO = [queue("a", quota=4), queue("b", quota=4)]
ALONE = (PodTerm("kubernetes.io/hostname", (Expression("app", "In", ("x",)),)),)


def hosts(n: int, gpus: int = 1) -> list[Node]:
    return [node(f"n{i}", gpus, labels={"kubernetes.io/hostname": f"n{i}", "rack": f"r{i // 2}"}) for i in range(n)]


def reasons(session: Session, name: str = "j") -> list[str]:
    return [reason.text for reason in why_pending(session, session.jobs[name]).reasons]


NO_LOWER = "nothing to preempt in queue q: no lower-priority preemptible job is running"
CASES: dict[str, tuple[Callable[[], Session], list[str]]] = {
    "queue missing": (lambda: run(hosts(1), [queue("q")], [job("j", "other")]), ["queue other does not exist"]),
    "parent missing": (
        lambda: run(hosts(1), [queue("q", "gone")], [job("j", "q")]),
        ["queue q is ignored: its parent gone does not exist"],
    ),
    "cycle of parents": (
        lambda: run(hosts(1), [queue("q", "r"), queue("r", "q")], [job("j", "q")]),
        ["queue q is ignored: its parents form a cycle (q → r → q)"],
    ),
    "own parent": (
        lambda: run(hosts(1), [queue("q", "q")], [job("j", "q")]),
        ["queue q is ignored: it is its own parent"],
    ),
    "inner queue": (
        lambda: run(hosts(1), [queue("q"), queue("below", "q")], [job("j", "q")]),
        ["queue q has child queues; only leaf queues run jobs"],
    ),
    "gates": (
        lambda: run(hosts(1), [queue("q")], [job("j", "q", 2, pod={"status": GATED})]),
        ["the job requires 2 pods to start but has 0 (2 gated)"],
    ),
    "too few pods of a part": (
        lambda: run(
            hosts(2),
            [queue("q")],
            [job("j", "q", root=SubGroup("", None, (SubGroup("w", 2),)), pod={"sub_group": "w"})],
        ),
        ["sub-group w requires 2 pods to start but has 1"],
    ),
    "limit above": (
        lambda: run(hosts(3), LIMITED, [job("r", "q", 2), job("j", "q", priority=40)]),
        ["queue org would exceed its limit of 2 GPUs: 2 GPUs in use, 1 GPU requested"],
    ),
    "guarantee": (
        lambda: run(hosts(3), [queue("q", quota=1)], [job("j", "q", 2, priority=100)]),
        [
            ("non-preemptible jobs would exceed queue q's quota of 1 GPU: 0 GPUs in use by these jobs, "
            "2 GPUs requested"),
        ],
    ),
    "fair share": (
        lambda: run(
            hosts(2),
            [queue("a", quota=1), queue("b", quota=1)],
            [job("r0", "a", on="n0"), job("wants", "a"), job("r1", "b", on="n1"), job("j", "b")],
        ),
        [
            "cannot reclaim from other queues: b uses 1 GPU and requests 1 more GPU; its fair share is 1 GPU",
            "nothing to preempt in queue b: no lower-priority preemptible job is running",
            "pod j-0 does not fit on any node: of 2 nodes, 2 lack GPUs",
        ],
    ),
    "others within their fair share": (
        lambda: run(hosts(1), TWO, [job("r", "b", on="n0"), job("j", "a")]),
        [
            "nothing to reclaim from other queues: b within its fair share",
            "nothing to preempt in queue a: no lower-priority preemptible job is running",
            "pod j-0 does not fit on any node: of 1 node, 1 lacks GPUs",
        ],
    ),
    "minimum runtime": (
        lambda: run(
            hosts(1),
            [queue("a", quota=1), queue("b", quota=0, reclaim_min_runtime=600.0)],
            [job("r", "b", on="n0", last_start=NOW - 60), job("j", "a")],
        ),
        [
            "nothing to reclaim from other queues: 1 job still within the minimum runtime",
            "nothing to preempt in queue a: no lower-priority preemptible job is running",
            "pod j-0 does not fit on any node: of 1 node, 1 lacks GPUs",
        ],
    ),
    "preemption delay": (
        lambda: run(
            hosts(1),
            [queue("a", quota=1), queue("b", quota=0)],
            [job("r", "b", on="n0"), job("j", "a", preemption_delay=3600.0)],
        ),
        [
            "its preemption delay of 1h0m0s ends in 50m0s; until then, it cannot evict other jobs",
            "pod j-0 does not fit on any node: of 1 node, 1 lacks GPUs",
        ],
    ),
    "more than any node has": (
        lambda: run(hosts(2), [queue("q")], [job("j", "q", gpus=4)]),
        [
            ("The pod team/j-0 requires GPU: 4, CPU: 1 (cores), memory: 1 (GB), pods: 1. Max GPU resources available "
            "in a single node in the default node-pool is topped at 1")
        ],
    ),
    "many nodes, many reasons": (
        lambda: run(
            [
                node("big", 4, labels={"model": "h100"}, taints=TAINTED),
                *(node(f"small{i}", 1, labels={"model": "h100"}) for i in range(1200)),
                *(node(f"other{i}", 4) for i in range(20)),
                *(node(f"down{i}", 4, ready=False) for i in range(3)),
            ],
            [queue("q")],
            [job("j", "q", gpus=4, pod={"node_affinity": H100})],
        ),
        [
            ("pod j-0 does not fit on any node: of 1,224 nodes, 1,200 lack GPUs (1,200 even when empty), 20 do not match the pod's node "
            "selector or node affinity, 3 are cordoned or not ready, 1 has a taint that the pod does not tolerate")
        ],
    ),
    "other resources": (
        lambda: run(
            [node("n", has={"cpu": 1500.0}), node("m", has={"memory": 1.5e9}), node("p", has={"pods": 1.0})],
            [queue("q")],
            [*(job(f"r{i}", "q", gpus=0, on=name) for i, name in enumerate("nmp")), job("j", "q", gpus=0)],
        ),
        [
            "nothing to reclaim from other queues: no job is running in another queue",
            NO_LOWER,
            "pod j-0 does not fit on any node: of 3 nodes, 1 lacks CPU, 1 lacks memory, 1 runs the maximum number of pods",
            ],
    ),
    "gang": (
        lambda: run(hosts(3), [queue("q")], [job("j", "q", 4)], actions=("allocate",)),
        ["pod j-3 does not fit on any node (3 of 4 pods can be placed): of 3 nodes, 3 lack GPUs"],
    ),
    "pods beside it": (
        lambda: run(
            hosts(2, 4),
            [queue("q")],
            [job("j", "q", 3, pod={"anti_affinity": ALONE, "labels": {"app": "x"}})],
            actions=("allocate",),
        ),
        ["pod j-2 does not fit on any node (2 of 3 pods can be placed): of 2 nodes, 2 do not match the pod's anti-affinity rules"],
    ),
    "topology": (
        lambda: run(
            hosts(4),
            [queue("q")],
            [job("j", "q", 3, root=SubGroup("default", 3, (), TopologyConstraint("net", "rack")))],
            snapshot={"topologies": (Topology("net", ("rack", "kubernetes.io/hostname")),)},
            actions=("allocate",),
        ),
        [
            ("topology net, requirement rack couldn't be satisfied for job <team/j>; <r0>: node-group r0 can allocate "
            "only 2 of 3 required pods; <r1>: node-group r1 can allocate only 2 of 3 required pods")
        ],
    ),
    "scattered": (
        lambda: run(
            hosts(2, 2),
            [queue("q")],
            [job("r0", "q", on="n0", preemptible=False), job("r1", "q", on="n1", preemptible=False), job("j", "q", gpus=2)],
        ),
        [
            "nothing to reclaim from other queues: no job is running in another queue",
            NO_LOWER,
            "pod j-0 does not fit on any node: of 2 nodes, 2 lack GPUs",
            "consolidation found no solution: 2 GPUs requested, 2 GPUs free in total but fragmented across nodes",
        ],
    ),
    "waits for those who leave": (
        lambda: run(hosts(1), [queue("a", quota=1), queue("b", quota=0)], [job("r", "b", on="n0"), job("j", "a")]),
        ["1 pod waits for resources that are being released on n0"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_pending_reasons(name: str) -> None:
    made, expected = CASES[name]
    assert reasons(made()) == expected


def test_pods_of_a_missing_sub_group_are_named() -> None:
    group, pods = job("j", "q")
    lost = replace(pods[0], uid="lost", name="lost", sub_group="gone")
    session = run(hosts(1), [queue("q")], [(group, [*pods, lost])])
    assert reasons(session) == ["1 pod belongs to sub-group gone, which the pod group does not define"]


def test_scheduled_jobs_are_not_explained() -> None:
    session = run(hosts(1), [queue("q")], [job("r", "q"), job("j", "q", priority=40)])
    assert [each.name for each in pending_jobs(session)] == ["j"]
    assert why_pending(session, session.jobs["r"]).reasons == ()


def test_reasons_are_numbered_and_wrapped() -> None:
    session = CASES["others within their fair share"][0]()
    lines = list(wrapped(why_pending(session, session.jobs["j"]).lines))
    assert lines == [
        "job team/j in queue a: 1 pending",
        "  1. nothing to reclaim from other queues: b within its fair share",
        "  2. nothing to preempt in queue a: no lower-priority preemptible job is running",
        "  3. pod j-0 does not fit on any node: of 1 node, 1 lacks GPUs",
    ]


def test_explanation_does_not_change_the_session() -> None:
    session = run(hosts(3, 2), [queue("q")], [job("j", "q", 13, gpus=0.5)])
    before = session.nodes.idle.tolist(), [task.gpu_groups for task in session.jobs["j"].tasks.values()]
    list(pending_jobs(session))
    assert before == (session.nodes.idle.tolist(), [task.gpu_groups for task in session.jobs["j"].tasks.values()])


def test_json_has_kinds_texts_and_numbers() -> None:
    session = CASES["gang"][0]()
    (reason,) = document(why_pending(session, session.jobs["j"]))["reasons"]
    assert reason == {
        "kind": "no-node",
        "text": "pod j-3 does not fit on any node (3 of 4 pods can be placed): of 3 nodes, 3 lack GPUs",
        "pod": "j-3",
        "part": "default",
        "n_placed": 3,
        "n_needed": 4,
        "nodes": {"n_nodes": 3, "counts": [{"reason": "gpus", "n": 3, "small": 0}]},
    }
    assert json.loads(json.dumps(reason)) == reason
