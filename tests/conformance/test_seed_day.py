"""The jobs of seed 002 are released as by the public kube-queue and koord-queue: see seeds/README.md."""

from __future__ import annotations

import pytest
from tests.conformance.ack_timelines import agrees
from tests.conformance.seed_day import Case, day_of, dequeued, recorded_days, simulated_day, times_of

_DAYS = pytest.mark.parametrize("day", tuple(recorded_days()), ids=lambda day: str(day["engine"]))


@_DAYS
def test_recorded_day_is_that_of_the_example(day: Case) -> None:
    assert {key: value for key, value in day.items() if key != "outcomes"} == day_of(day["engine"])


@_DAYS
def test_queues_dequeue_as_public_code(day: Case) -> None:
    assert agrees(day)


@_DAYS
def test_simulated_cluster_dequeues_as_public_code(day: Case) -> None:
    (outcome,) = day["outcomes"]
    assert [list(one) for one in dequeued(day["engine"])] == outcome["dequeued"]


def test_day_with_its_own_policies_combines_both() -> None:
    """The queue of the video team follows koord-queue, and the others kube-queue: they do not compete for quota."""
    _, _, history = simulated_day()
    found = {fact.workload: round(fact.at_s) for fact in history.facts if fact.what == "dequeued"}
    seconds: dict[str, int] = {}
    for day in recorded_days():
        engine = day["engine"]
        times = times_of(engine, simulated_day(_policy(day))[2])
        for at, job in day["outcomes"][0]["dequeued"]:
            if _is_of_video(day, job) == (engine == "koord-queue"):
                seconds[job] = times[at]
    assert found == seconds


def _policy(day: Case) -> str:
    (policy,) = {queue["policy"] for queue in day["queues"]}
    return str(policy)


def _is_of_video(day: Case, job: str) -> bool:
    return any(one["name"] == job and one["namespace"] == "video" for one in day["jobs"])
