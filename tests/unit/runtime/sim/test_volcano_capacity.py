"""Volcano's capacity plugin: limits, lending and reclaim of queues, and which plugin decides."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from apportion_api.volcano.configuration import Plugin, SchedulerConfiguration, Tier
from apportion_runtime.engines.volcano.amounts import Amounts
from apportion_runtime.engines.volcano.capacity import Capacity, QueueSpec
from apportion_runtime.engines.volcano.configuration import is_decided_by
from apportion_runtime.engines.volcano.reclaim_rules import may_reclaim, reclaimable

GPU = "nvidia.com/gpu"


def gpus(count: int, **more: int) -> dict[str, int]:
    return {GPU: count, **more}


CLUSTER = {"cpu": 64_000, "memory": 2**38, GPU: 16}
TREE = (
    QueueSpec("org", capability=gpus(12), deserved=gpus(12)),
    QueueSpec("a", "org", deserved=gpus(8), guarantee=gpus(2)),
    QueueSpec("b", "org", deserved=gpus(4), capability=gpus(6)),
    QueueSpec("free"),
)


def tree(*specs: QueueSpec, **held: int) -> Capacity:
    capacity = Capacity(specs or TREE, CLUSTER, hierarchy=True)
    for name, count in held.items():
        capacity.charge(name, gpus(count))
    capacity.update_shares()
    return capacity


def test_real_capability_excludes_guarantees_of_others() -> None:
    capacity = tree()
    assert {
        name: queue.real.get(GPU) for name, queue in capacity.queues.items() if name not in ("root", "default")
    } == {
        "org": 12,
        "a": 12,
        "b": 6,
        "free": 2**62,
    }
    # Of the twelve, a is guaranteed two, which b may never hold.
    wide = tree(*TREE[:2], QueueSpec("b", "org"))
    assert wide.queues["b"].real[GPU] == 10


def test_allocation_is_limited_at_every_level() -> None:
    capacity = tree(a=7, b=4)
    assert capacity.refused("b", gpus(1)) == ""
    assert capacity.refused("b", gpus(2)) == "queue resource quota insufficient: insufficient nvidia.com/gpu"
    assert capacity.refused("b", {"cpu": 1000}) == ""
    assert capacity.refused("org", gpus(1)) == "queue org is not a leaf queue"
    closed = tree(QueueSpec("shut", is_open=False))
    assert closed.refused("shut", {}) == "queue shut is not open"


def test_enqueue_counts_inqueue_jobs() -> None:
    capacity = tree(b=3)
    assert capacity.not_enqueued("b", gpus(3)) == ""
    capacity.count("b", requested={}, inqueue=gpus(2), elastic={})
    assert "insufficient nvidia.com/gpu" in capacity.not_enqueued("b", gpus(3))
    capacity.count("b", requested={}, inqueue={}, elastic=gpus(2))
    assert capacity.not_enqueued("b", gpus(3)) == "", "what others hold beyond their minimum does not count"


def test_queue_order_is_priority_then_share() -> None:
    capacity = tree(a=2, b=3)
    assert capacity.in_order(["b", "a", "free"]) == ["a", "b", "free"], "a quarter, three quarters, and none deserved"
    assert tree(a=8, b=1).in_order(["a", "b"]) == ["b", "a"]
    first = (*TREE, QueueSpec("urgent", priority=5))
    assert tree(*first).in_order(["a", "urgent"]) == ["urgent", "a"]


@pytest.mark.parametrize(
    ("held", "asked", "may"),
    [
        ({"a": 7}, gpus(1), True),
        ({"a": 8}, gpus(1), False),
        ({"a": 6, "b": 6}, gpus(1), True),  # What others hold is what it takes.
        ({}, {"cpu": 1000}, False),  # It deserves no cpu.
    ],
)
def test_reclaim_is_limited_by_deserved(held: dict[str, int], asked: Amounts, may: bool) -> None:
    capacity = Capacity((*TREE[1:2], QueueSpec("org", capability=gpus(12)), TREE[2]), CLUSTER, hierarchy=True)
    for name, count in held.items():
        capacity.charge(name, gpus(count))
    assert may_reclaim(capacity, "a", asked) is may


@dataclass(frozen=True)
class Leaving:
    queue: str
    request: Amounts


@pytest.mark.parametrize(
    ("victims", "found"),
    [
        ([Leaving("b", gpus(1))] * 3, [0, 1]),  # It holds six and deserves four.
        ([Leaving("free", gpus(1))] * 2, [0, 1]),  # It deserves nothing.
        ([Leaving("a", gpus(1))], []),  # It holds what it deserves.
        ([Leaving("b", {"cpu": 1000})], []),  # That would not help.
    ],
)
def test_queues_above_deserved_are_reclaimable(victims: list[Leaving], found: list[int]) -> None:
    assert reclaimable(tree(a=8, b=6, free=2), "default", gpus(1), victims) == found


DEPARTMENTS = (
    QueueSpec("x", deserved=gpus(6)),
    QueueSpec("x1", "x", deserved=gpus(2)),
    QueueSpec("x2", "x"),
    QueueSpec("y", deserved=gpus(6)),
    QueueSpec("y1", "y", deserved=gpus(2)),
    QueueSpec("y2", "y"),
)


def departments(level: int, **held: int) -> Capacity:
    capacity = Capacity(DEPARTMENTS, CLUSTER, hierarchy=True, ancestor_level=level)
    for name, count in held.items():
        capacity.charge(name, gpus(count))
    return capacity


@pytest.mark.parametrize(("level", "may"), [(0, False), (1, True)])
def test_reclaim_for_deserved_of_the_parent(level: int, may: bool) -> None:
    assert may_reclaim(departments(level, x1=3), "x1", gpus(1)) is may


@pytest.mark.parametrize(
    ("level", "giver", "found"),
    [
        (0, "y1", [0]),  # It holds three and deserves two.
        (1, "y1", []),  # The queue above it deserves six.
        (1, "x1", [0]),  # The queue above both is not asked.
        (0, "x2", [0]),  # It deserves nothing.
    ],
)
def test_parent_keeps_its_deserved(level: int, giver: str, found: list[int]) -> None:
    capacity = departments(level, **{giver: 3})
    assert reclaimable(capacity, "x2" if giver != "x2" else "y1", gpus(1), [Leaving(giver, gpus(1))]) == found


def test_siblings_without_deserved_do_not_reclaim() -> None:
    specs = (QueueSpec("x"), QueueSpec("x1", "x"), QueueSpec("x2", "x"))
    for level, found in ((0, [0]), (1, [])):
        capacity = Capacity(specs, CLUSTER, hierarchy=True, ancestor_level=level)
        capacity.charge("x1", gpus(3))
        assert reclaimable(capacity, "x2", gpus(1), [Leaving("x1", gpus(1))]) == found


def test_inner_queue_share_is_updated_once_per_cycle() -> None:
    capacity = departments(0, x1=1, y1=2)
    capacity.update_shares()
    assert capacity.in_order(["y1", "x1"]) == ["x1", "y1"]
    capacity.charge("x1", gpus(4))
    assert capacity.in_order(["y1", "x1"]) == ["x1", "y1"]


@pytest.mark.parametrize(
    ("tiers", "is_decided"),
    [
        ((("priority", "conformance"),), True),
        ((("gang", "conformance", "priority"),), True),
        (
            (("priority", "gang", "conformance"),),
            False,
        ),  # Where priority and gang agree on nobody, conformance decides.
        ((("priority",), ("conformance",)), False),  # Where priority lets nobody go, the next tier decides.
        ((("priority", "unheard-of", "conformance"),), False),
    ],
)
def test_later_tiers_are_skipped_after_a_decision(tiers: tuple[tuple[str, ...], ...], is_decided: bool) -> None:
    made = SchedulerConfiguration(tiers=tuple(Tier(tuple(Plugin(name) for name in tier)) for tier in tiers))
    assert is_decided_by(made, "priority", "Preemptable") is is_decided


def test_guarantee_is_not_reclaimable() -> None:
    specs = (QueueSpec("kept", guarantee=gpus(2)), QueueSpec("other", deserved=gpus(4)))
    assert reclaimable(tree(*specs, kept=3), "other", gpus(1), [Leaving("kept", gpus(1))] * 2) == [0]


def test_disconnected_tree_schedules_nothing() -> None:
    capacity = tree(QueueSpec("lost", "nowhere"))
    assert capacity.refused("lost", gpus(1)) == "the queue lost is not a descendant of root"
