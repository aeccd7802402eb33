"""Evictions within disruption budgets: none in vain, another victim if one is protected."""

from __future__ import annotations

from apportion_runtime.kube.errors import Origin, Refused

from .memory_cluster import Memory, events_without, run_cycle
from .objects import INFERENCE, NOW, TRAIN, node, pod, pod_group, queue

TEAM = queue("team", None, 4)
BUDGET = Refused(429, "Cannot evict pod as it would violate the pod's disruption budget.", origin=Origin.BUDGET)


def _cluster() -> Memory:
    training = [pod(f"train-{n}", "team", 1) for n in range(4)]
    cluster = Memory(node("n1", 4), TRAIN, INFERENCE, TEAM, *training)
    run_cycle(cluster, NOW)
    return cluster


def test_another_victim_is_evicted_if_a_budget_protects_the_first() -> None:
    unprotected = _cluster()
    unprotected.create(pod("new", "team", 1, priority="inference"))
    run_cycle(unprotected, NOW + 1)
    (first,) = unprotected.evicted

    cluster = _cluster()
    cluster.create(pod("new", "team", 1, priority="inference"))
    cluster.keeps = {first: BUDGET}
    result = run_cycle(cluster, NOW + 1)
    assert cluster.evicted == []
    assert any("was refused" in line and "disruption budget" in line for line in result.decisions)
    assert [event[1] for event in events_without(cluster, "Scheduled", "Unschedulable")] == ["EvictionRefused"]
    run_cycle(cluster, NOW + 2)
    assert len(cluster.evicted) == 1
    assert cluster.evicted != [first]


def test_another_victim_is_searched_at_once_after_a_refusal() -> None:
    cluster = _cluster()
    cluster.create(pod("new", "team", 1, priority="inference"))
    cluster.keeps = {f"train-{n}": BUDGET for n in range(4)}
    for second in range(1, 5):
        assert run_cycle(cluster, NOW + second).next_cycle_s == 0
    # All are protected: the first is tried again after its delay.
    assert run_cycle(cluster, NOW + 5).next_attempt_s == 10


def test_pending_pod_reports_refused_evictions_while_they_apply() -> None:
    cluster = _cluster()
    cluster.create(pod("new", "team", 1, priority="inference"))
    cluster.keeps = {f"train-{n}": BUDGET for n in range(4)}
    refusal = (
        ". Eviction of team/train-3 was refused: Cannot evict pod as it would violate the pod's disruption budget."
    )
    others = ("", " 1 other eviction was refused, too.", " 2 other evictions were refused, too.")
    for second, ending in enumerate(others, 1):
        run_cycle(cluster, NOW + second)
        assert cluster.told["new"].endswith(refusal + ending)
    # The budget is gone, and the delay has passed.
    cluster.keeps, cluster.clock_s = {}, 10.0
    run_cycle(cluster, NOW + 11)
    assert "refused" not in cluster.told["new"]


def test_no_victim_of_a_beneficiary_is_evicted_if_one_of_them_is_protected() -> None:
    cluster = _cluster()
    cluster.create(pod("new", "team", 4, priority="inference"))
    cluster.keeps = {"train-2": BUDGET}
    result = run_cycle(cluster, NOW + 1)
    assert (cluster.evicted, result.evicted) == ([], [])
    # All four are needed, so nothing can be done while the budget holds.
    assert run_cycle(cluster, NOW + 2).evicted == []
    cluster.keeps = {}
    cluster.clock_s = 10.0
    assert len(run_cycle(cluster, NOW + 12).evicted) == 4


def test_refused_evictions_evict_nothing_and_are_retried_with_backoff() -> None:
    cluster = _cluster()
    cluster.create(pod("new", "team", 1, priority="inference"))
    cluster.keeps = {f"train-{n}": BUDGET for n in range(4)}
    refusals = 0
    for second in range(60):
        cluster.clock_s = float(second)
        refusals += sum("was refused" in line for line in run_cycle(cluster, NOW + second).decisions)
    assert cluster.evicted == []
    assert 4 <= refusals <= 16


def test_eviction_of_protected_stale_gang_is_not_retried_in_every_cycle() -> None:
    gang = {"pod-group-name": "gang"}
    running = pod("running", "team", 1, on="n1", **gang)
    group = pod_group("gang", "team", 2)
    group["metadata"]["annotations"] = {"kai.scheduler/stale-podgroup-timestamp": "2025-11-21T07:00:00Z"}
    cluster = Memory(node("n1", 4), TRAIN, TEAM, group, running)
    cluster.keeps = {"running": BUDGET}
    assert len(run_cycle(cluster, NOW).decisions) == 1
    assert run_cycle(cluster, NOW + 1).decisions == []
    cluster.keeps = {}
    cluster.clock_s = 10.0
    assert run_cycle(cluster, NOW + 10).evicted == ["team/running"]


def test_eviction_log_line_has_beneficiary_and_rule() -> None:
    cluster = _cluster()
    cluster.create(pod("new", "team", 2, priority="inference"))
    (line,) = run_cycle(cluster, NOW + 1).decisions
    assert line.startswith(
        "evicted 2 pods for team/pg-new-uid-new (lower priority in the same queue (50 < 125)): team/train-"
    )
