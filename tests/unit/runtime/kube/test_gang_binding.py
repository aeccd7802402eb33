"""A gang is bound whole or taken back, whichever of its binds the API server rejects."""

from __future__ import annotations

import pytest

from apportion_runtime.kube.errors import Origin, Refused

from .memory_cluster import Memory, run_cycle
from .objects import NOW, TRAIN, node, pod, pod_group, queue

DENIED = Refused(403, 'admission webhook "guard" denied the request', origin=Origin.ADMISSION)
TEAM = queue("team", None, 8)


def _cluster(size: int, members: int) -> Memory:
    gang = [pod(f"gang-{n}", "team", 1, **{"pod-group-name": "gang"}) for n in range(size)]
    return Memory(node("n1", 8), TRAIN, TEAM, pod_group("gang", "team", members), *gang)


def _left(cluster: Memory) -> set[str]:
    """Return the pods that are bound and not evicted."""
    return {m["metadata"]["name"] for m in cluster.held.values() if m["kind"] == "Pod" and m["spec"].get("nodeName")}


@pytest.mark.parametrize("code", [401, 403, 404, 409, 410])
def test_gang_is_evicted_whichever_code_the_webhook_that_rejects_a_bind_chooses(code: int) -> None:
    cluster = _cluster(4, 4)
    denied = 'admission webhook "guard" denied the request: forbidden: User "one" may not'
    cluster.refuses = {"gang-2": Refused(code, denied, origin=Origin.ADMISSION)}
    run_cycle(cluster, NOW)
    assert _left(cluster) == set()


@pytest.mark.parametrize("refused", ["gang-0", "gang-3"])
def test_gang_is_evicted_if_one_bind_is_permanently_rejected(refused: str) -> None:
    cluster = _cluster(4, 4)
    cluster.refuses = {refused: DENIED}
    result = run_cycle(cluster, NOW)
    assert _left(cluster) == set()
    assert sorted(result.evicted) == sorted(result.bound)
    (event,) = cluster.events
    assert event[:2] == ("gang", "BindingRejected")
    assert f"rejected the binding of pod {refused}: admission webhook" in event[2]


def test_rejected_gang_is_retried_with_backoff_and_reports_reason() -> None:
    cluster = _cluster(2, 2)
    cluster.refuses = {"gang-0": DENIED, "gang-1": DENIED}
    run_cycle(cluster, NOW)
    cluster.clock_s = 9.9
    assert run_cycle(cluster, NOW + 9.9).refused == []
    assert "denied the request; the gang is retried" in cluster.told["gang-1"]
    cluster.clock_s = 10.0
    assert len(run_cycle(cluster, NOW + 10).refused) >= 1
    cluster.clock_s = 29.9
    assert run_cycle(cluster, NOW + 29.9).refused == []
    cluster.clock_s = 30.0
    cluster.refuses = {}
    assert sorted(run_cycle(cluster, NOW + 30).bound) == ["team/gang-0", "team/gang-1"]


def test_other_jobs_use_devices_of_rejected_gang() -> None:
    cluster = _cluster(8, 8)
    cluster.refuses = {"gang-0": DENIED}
    run_cycle(cluster, NOW)
    cluster.create(pod("other", "team", 8))
    assert run_cycle(cluster, NOW + 1).bound == ["team/other"]


def test_gang_keeps_bound_pods_if_minimum_is_met() -> None:
    cluster = _cluster(4, 2)
    cluster.refuses = {"gang-3": DENIED}
    result = run_cycle(cluster, NOW)
    assert result.evicted == []
    assert len(_left(cluster)) >= 2


@pytest.mark.parametrize(
    "refused",
    [
        Refused(409, "the object has been modified"),
        Refused(404, "pods not found"),
        Refused(503, "overloaded"),
        Refused(401, "Unauthorized", origin=Origin.ACCOUNT),
        Refused(403, 'pods "gang-1" is forbidden: User "one" cannot create', origin=Origin.ACCOUNT),
    ],
    ids=["conflict", "gone", "temporary", "unknown account", "account without permission"],
)
def test_gang_is_completed_in_next_cycle_after_temporary_rejection(refused: Refused) -> None:
    cluster = _cluster(4, 4)
    cluster.refuses = {"gang-2": refused}
    assert run_cycle(cluster, NOW).evicted == []
    cluster.refuses = {}
    assert run_cycle(cluster, NOW + 1).bound == ["team/gang-2"]
    assert len(_left(cluster)) == 4


def test_pods_bound_in_an_earlier_cycle_are_taken_back_with_their_gang() -> None:
    cluster = _cluster(4, 4)
    cluster.refuses = {"gang-2": Refused(503, "overloaded")}
    run_cycle(cluster, NOW)
    assert len(_left(cluster)) == 3
    cluster.refuses = {"gang-2": DENIED}
    run_cycle(cluster, NOW + 1)
    assert _left(cluster) == set()


def test_other_gangs_of_the_cycle_are_not_affected() -> None:
    cluster = _cluster(4, 4)
    cluster.create(pod("single", "team", 1))
    cluster.refuses = {"gang-1": DENIED}
    run_cycle(cluster, NOW)
    assert _left(cluster) == {"single"}
