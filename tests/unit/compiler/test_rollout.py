"""Updates: changes that need one, changes that need several, and dependencies."""

from __future__ import annotations

from typing import Any

from apportion_compiler.rollout.identity import identity_of
from apportion_compiler.rollout.plan import Update, changes, plan_target
from apportion_compiler.rollout.references import references

Object = dict[str, Any]


def _queue(name: str, parent: str = "root", gpu: int = 0) -> Object:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"parent": parent, "deserved": {"nvidia.com/gpu": str(gpu)}},
    }


def _named(kind: str, name: str, **spec: str) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}


def _names(update: Update) -> list[str]:
    return [str(m["metadata"]["name"]) for m in update.objects]


def _waits(update: Update, name: str) -> set[str]:
    return {other.name for key, found in update.waits.items() if key.name == name for other in found}


A4_B4 = [_queue("g", gpu=8), _queue("a", "g", 4), _queue("b", "g", 4)]


def test_quota_moved_between_siblings_is_one_waiting_update() -> None:
    (update,) = plan_target("volcano", A4_B4, [_queue("g", gpu=8), _queue("a", "g", 2), _queue("b", "g", 6)])
    assert "a" in _waits(update, "b")


def test_growing_siblings_do_not_wait() -> None:
    (update,) = plan_target("volcano", A4_B4, [_queue("g", gpu=12), _queue("a", "g", 6), _queue("b", "g", 6)])
    assert _waits(update, "a") == _waits(update, "b") == {"g"}


def test_shrinking_parent_waits_for_its_children() -> None:
    (update,) = plan_target("volcano", A4_B4, [_queue("g", gpu=4), _queue("a", "g", 2), _queue("b", "g", 2)])
    assert _waits(update, "g") == {"a", "b"}
    assert not update.is_settled


def test_removing_a_child_of_a_shrinking_parent_needs_two_updates() -> None:
    first, second = plan_target("volcano", A4_B4, [_queue("g", gpu=4), _queue("b", "g", 4)])
    assert _names(first) == ["g", "b"]
    assert first.objects[0] == _queue("g", gpu=8)
    assert second.objects[0] == _queue("g", gpu=4)


def test_renamed_queue_is_created_before_deletion() -> None:
    wanted = [_queue("g", gpu=8), _queue("c", "g", 4), _queue("b", "g", 4)]
    first, second = plan_target("volcano", A4_B4, wanted)
    assert _names(first) == ["g", "b", "c"]
    assert first.objects[-1]["spec"] == {"parent": "g"}
    assert list(second.objects) == wanted


def test_nested_deletions_are_settled_before_reordering() -> None:
    wanted: list[Object] = []
    assert len(plan_target("volcano", A4_B4, wanted)) == 1
    settling, deleting = plan_target("volcano", A4_B4, wanted, was_settled=False)
    assert _names(settling) == ["g", "a", "b"]
    assert _waits(settling, "a") == {"g"}
    assert _names(deleting) == []


def test_other_objects_go_with_the_first_or_last_update() -> None:
    former = [_named("Namespace", "old"), *A4_B4, _named("Tail", "tail", version="1")]
    wanted = [
        _named("Namespace", "new"),
        _queue("g", gpu=4),
        _queue("b", "g", 4),
        _named("Tail", "tail", version="2"),
    ]
    first, second = plan_target("volcano", former, wanted)
    assert _names(first) == ["new", "g", "b", "old", "tail"]
    assert first.objects[-1] == former[-1]
    assert list(second.objects) == wanted


def test_engines_without_queue_order_need_one_update() -> None:
    former = [_named("ResourceQuota", "a"), _named("ResourceQuota", "b")]
    (update,) = plan_target("native", former, [_named("ResourceQuota", "c")])
    assert _names(update) == ["c"]


def test_kai_queues_are_swapped_in_one_update() -> None:
    def queue(name: str, gpu: int, parent: str | None = None) -> Object:
        spec: Object = {"resources": {"gpu": {"quota": gpu, "limit": -1, "overQuotaWeight": 1}}}
        if parent is not None:
            spec["parentQueue"] = parent
        return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}

    former = [queue("a", 4), queue("b", 4, "a")]
    wanted = [queue("b", 4), queue("a", 4, "b")]
    (update,) = plan_target("kai", former, wanted)
    assert "b" in _waits(update, "a")


def test_objects_wait_for_earlier_references() -> None:
    flavor, queue = _named("ResourceFlavor", "h100"), _named("ClusterQueue", "team", flavor="h100")
    space = _named("Namespace", "team-ns")
    local = {**_named("LocalQueue", "team", clusterQueue="team"), "metadata": {"name": "team", "namespace": "team-ns"}}
    assert references([space, flavor, queue, local]) == (frozenset(), frozenset(), {1}, {0, 2})


def test_changes_are_counted_by_identity() -> None:
    after = [_queue("g", gpu=9), _queue("a", "g", 4), _queue("c", "g")]
    assert changes(A4_B4, after) == (1, 1, 1)
    assert identity_of(A4_B4[0]) == ("scheduling.volcano.sh", "Queue", "", "g")
