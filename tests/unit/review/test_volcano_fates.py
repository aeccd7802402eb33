"""Fates of running work under Volcano: evictions for pending work, and cases that recorded runs do not cover."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.review.volcano_objects import SCHEDULER_KEY, objects_of

from apportion_review.fates.records import EngineFates, Fate
from apportion_review.fates.volcano import volcano_fates

Made = dict[str, Any]
CLUSTER: Made = {
    "nodes": {"n0": {}},
    "queues": {"lender": {"deserved": 4}, "owner": {"deserved": 4}},
    "running": {
        "kept": {"queue": "lender", "gpus": 4, "class": "high", "nodes": ["n0"]},
        "lent": {"queue": "lender", "gpus": 4, "class": "low", "nodes": ["n0"]},
    },
    "pending": {"wants": {"queue": "owner", "gpus": 2, "class": "low"}},
}


def fates_of(objects: list[Made]) -> EngineFates:
    return volcano_fates(objects, objects, now=None)


def fates(found: EngineFates) -> dict[str, Fate]:
    return {row.workload.name: row.head.fate for row in found.rows}


def test_pending_work_reclaims_deserved() -> None:
    found = fates_of(list(objects_of(CLUSTER)))
    assert fates(found) == {"kept": Fate.ON_DEMAND, "lent": Fate.EVICTED}
    lent = found.rows[1].head
    assert lent.rule == "reclaimed for owner/pg-wants, which is pending in owner"
    assert lent.beneficiary == "owner"


def test_partially_evicted_gang_is_evicted() -> None:
    running = {"gang": {"queue": "lender", "gpus": 2, "pods": 4, "class": "high", "nodes": ["n0"] * 4}}
    found = fates_of(list(objects_of({**CLUSTER, "running": running})))
    assert found.rows[0].head.rule == "1 of 4 pods reclaimed for owner/pg-wants, which is pending in owner"


def test_smaller_deserved_causes_evictions() -> None:
    quiet = {**CLUSTER, "queues": {"lender": {"deserved": 8, "capability": 8}, "owner": {"deserved": 0}}}
    found = volcano_fates(list(objects_of(quiet)), list(objects_of(CLUSTER)), now=None)
    assert {row.workload.name: row.base.fate for row in found.rows} == {"kept": Fate.SAFE, "lent": Fate.ON_DEMAND}
    assert fates(found)["lent"] is Fate.EVICTED


def test_pod_priority_does_not_protect_jobs() -> None:
    """Volcano ranks a job by the class of its PodGroup, and one without a class lowest."""
    cluster = {
        "nodes": {"n0": {}},
        "queues": {"q": {"deserved": 8, "capability": 8}},
        "running": {"job": {"queue": "q", "gpus": 8, "class": "high", "nodes": ["n0"]}},
    }
    objects = list(objects_of(cluster))
    assert fates(fates_of(objects)) == {"job": Fate.SAFE}
    (group,) = (made for made in objects if made["kind"] == "PodGroup")
    del group["spec"]["priorityClassName"]
    assert fates(fates_of(objects)) == {"job": Fate.ON_DEMAND}


def test_missing_pod_group_leaves_fates_unknown() -> None:
    objects = [made for made in objects_of(CLUSTER) if made["kind"] != "PodGroup"]
    found = fates_of(objects)
    assert set(fates(found).values()) == {Fate.UNKNOWN}
    assert found.rows[0].head.rule == "its PodGroup pg-kept is not in the input"


def test_parent_capability_does_not_limit_reclaim() -> None:
    """`reclaim` checks the capability of the leaf alone, so that of a department protects none of its work."""
    queues = {
        "department": {"deserved": 4, "capability": 4},
        "team": {"parent": "department", "deserved": 2},
        "sibling": {"parent": "department", "deserved": 2},
        "other": {"deserved": 4},
    }
    running = {"job": {"queue": "team", "gpus": 4, "class": "high", "nodes": ["n0"]}}
    cluster = {"configuration": {"levels": 1}, "nodes": {"n0": {}}, "queues": queues, "running": running}
    assert fates(fates_of(list(objects_of(cluster)))) == {"job": Fate.ON_DEMAND}


def test_emitted_configuration_is_verified() -> None:
    assert fates_of(list(objects_of(CLUSTER))).is_verified


def configured(text: str) -> list[Made]:
    objects = list(objects_of(CLUSTER))
    objects[0] = {**objects[0], "data": {SCHEDULER_KEY: text}}
    return objects


def with_group(field: str, value: object) -> list[Made]:
    objects = list(objects_of(CLUSTER))
    group = next(made for made in objects if made["kind"] == "PodGroup")
    group["spec"][field] = value
    return objects


ACTIONS = "actions: 'enqueue, allocate, preempt, reclaim, backfill'\n"
CAPACITY = "{name: capacity, enableHierarchy: true}"


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (configured(ACTIONS + "tiers: [{plugins: [{name: proportion}]}]"), "Volcano's proportion plugin"),
        (configured(ACTIONS + f"tiers: [{{plugins: [{CAPACITY}, {{name: drf}}]}}]"), "Volcano's drf plugin"),
        (
            configured(ACTIONS + f"tiers: [{{plugins: [{CAPACITY}]}}]\nconfigurations: [{{name: preempt}}]"),
            "the scheduler's configuration sets action arguments",
        ),
        (with_group("networkTopology", {"mode": "hard"}), "PodGroup pg-kept sets networkTopology"),
        (with_group("minTaskMember", {"worker": 1}), "PodGroup pg-kept sets minTaskMember"),
    ],
)
def test_unsimulated_features_are_marked_unverified(objects: list[Made], why: str) -> None:
    found = fates_of(objects)
    assert not found.is_verified
    assert fates(found) == {"kept": Fate.ON_DEMAND, "lent": Fate.ON_DEMAND}
    assert any("Volcano is not simulated on the snapshot" in note and why in note for note in found.notes)


@pytest.mark.parametrize(
    "text",
    [
        "actions: 'enqueue, allocate, reclaim, backfill'\ntiers: [{plugins: [{name: priority}, {name: conformance}, "
        + CAPACITY
        + "]}]",
        ACTIONS + "tiers: [{plugins: [{name: priority}, {name: conformance}, {name: capacity}]}]",
        ACTIONS + "tiers: [{plugins: [{name: priority}]}, {plugins: [" + CAPACITY + "]}]",
        ACTIONS + "tiers: [{plugins: [{name: priority}, " + CAPACITY + ", {name: binpack}]}]",
        ACTIONS + "tiers: [{plugins: [{name: priority}, {name: gang}, " + CAPACITY + "]}]",
    ],
)
def test_uncovered_configuration_is_marked_unverified(text: str) -> None:
    assert not fates_of(configured(text)).is_verified


def test_too_much_pending_work_is_not_simulated() -> None:
    pending = {f"w{number}": {"queue": "owner", "gpus": 1} for number in range(351)}
    nodes = {f"n{number}": {} for number in range(300)}
    found = fates_of(list(objects_of({**CLUSTER, "nodes": nodes, "pending": pending})))
    assert fates(found) == {"kept": Fate.ON_DEMAND, "lent": Fate.ON_DEMAND}
    assert any("(too large: 351 pending pods, 300 nodes)" in note for note in found.notes)
