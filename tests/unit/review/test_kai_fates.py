"""Fates of running work under KAI Scheduler, one case for each rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.review.kai_objects import objects_of
from tests.unit.review.test_kueue_fates import changed

from apportion_review.fates import kai
from apportion_review.fates.cluster_state import cluster_states
from apportion_review.fates.kai import kai_fates
from apportion_review.fates.records import EngineFates, Fate

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "kai-fates.yaml").read_text())


def fates_of(case: dict[str, Any]) -> EngineFates:
    """The fates of a case."""
    return kai_fates(*cluster_states(list(objects_of(case)), list(objects_of(changed(case, case["head"]))), now=None))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_fates(case: dict[str, Any]) -> None:
    found = fates_of(case)
    head = {row.workload.name: row.head.fate.value for row in found.rows}
    base = {row.workload.name: row.base.fate.value for row in found.rows}
    assert head == case["fates"], [row.head for row in found.rows]
    assert base == {name: case.get("base", {}).get(name, "safe") for name in head}, [row.base for row in found.rows]
    assert any(case["rule"] in row.head.rule for row in found.rows), [row.head for row in found.rows]
    worse = [name for name in head if Fate(head[name]).severity > Fate(base[name]).severity]
    assert [row.workload.name for row in found.rows if row.is_worse] == case.get("worse", worse)


def test_workload_is_named_by_its_owner() -> None:
    (row, _) = fates_of(CASES[0]).rows
    assert (row.workload.key, row.workload.queue, row.workload.gpus) == ("Job a/new", "a", {"h100": 8000})
    assert (row.workload.n_pods, row.workload.priority_class, row.workload.is_preemptible) == (1, "train", True)


def test_unreadable_objects_leave_fates_unknown() -> None:
    objects = list(objects_of(CASES[0]))
    broken = [*objects, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}, "status": {"allocatable": 7}}]
    found = kai_fates(*cluster_states(objects, broken, now=None))
    assert {row.head.fate for row in found.rows} == {Fate.UNKNOWN}
    assert any(note.startswith("The head cannot be evaluated:") for note in found.notes)


def test_work_in_a_namespace_that_leaves_the_policy_has_an_unknown_fate() -> None:
    objects = list(objects_of(CASES[0]))
    labels = {"app.kubernetes.io/managed-by": "apportion"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}}
    found = kai_fates(*cluster_states([*objects, namespace], objects, now=None))
    assert {(row.workload.namespace, row.head.fate) for row in found.rows} == {("a", Fate.UNKNOWN)}


def test_work_of_new_shards_is_listed() -> None:
    objects = list(objects_of(CASES[0]))
    elsewhere = {"kind": "SchedulingShard", "metadata": {"name": "a"}, "spec": {"partitionLabelValue": "a"}}
    default = {"kind": "SchedulingShard", "metadata": {"name": "default"}, "spec": {}}
    base = [*objects, {"apiVersion": "kai.scheduler/v1", **elsewhere}]
    found = kai_fates(*cluster_states(base, [*base, {"apiVersion": "kai.scheduler/v1", **default}], now=None))
    assert [(row.base.fate, row.head.fate) for row in found.rows] == [(Fate.STUCK, Fate.ON_DEMAND)] * 2


def test_search_limit_leaves_fates_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search does not find is no longer evicted for certain, and never safe."""
    case = next(case for case in CASES if "evicted now" in case["fates"].values())
    monkeypatch.setattr(kai, "_MAX_EVICTIONS", 0)
    found = fates_of(case)
    assert "the search for victims stopped" in found.why_incomplete
    assert Fate.EVICTED not in {row.head.fate for row in found.rows}
    evicted = [row for row in found.rows if case["fates"][row.workload.name] == "evicted now"]
    assert {row.head.fate for row in evicted} == {Fate.ON_DEMAND}


def test_running_pods_without_their_pod_group_are_reported() -> None:
    case = CASES[0]
    objects = [
        made
        for made in objects_of(case)
        if not (made["kind"] == "PodGroup" and made["metadata"]["name"] == f"pg-{next(iter(case['running']))}")
    ]
    found = kai_fates(*cluster_states(objects, objects, now=None))
    n = case["running"][next(iter(case["running"]))].get("pods", 1)
    assert n == 1
    assert found.why_incomplete == "1 running pod references a pod group that the snapshot does not contain"


def _of_another_scheduler(names: str, *, keeps_group: bool) -> EngineFates:
    """The first case, with the pods of one workload under the default scheduler."""
    objects: list[dict[str, Any]] = []
    for made in objects_of(CASES[0]):
        if made["kind"] == "Pod" and made["metadata"]["name"].startswith(f"{names}-"):
            made["spec"]["schedulerName"] = "default-scheduler"
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": names, "uid": names}
            made["metadata"] |= {"ownerReferences": [owner]} | ({} if keeps_group else {"annotations": {}})
        if keeps_group or made["metadata"]["name"] != f"pg-{names}":
            objects.append(made)
    return kai_fates(*cluster_states(objects, objects, now=None))


def test_pods_of_another_scheduler_are_no_victims_and_are_reported() -> None:
    found = _of_another_scheduler("new", keeps_group=False)
    assert [row.workload.name for row in found.rows] == ["old"]
    (other,) = found.unmanaged
    assert (other.kind, other.name, other.schedulers, other.gpus) == (
        "Job",
        "new",
        ("default-scheduler",),
        {"h100": 8000},
    )
    assert found.why_incomplete == ""


def test_pods_of_another_scheduler_in_a_pod_group_are_victims_like_others() -> None:
    """The scheduler of KAI v0.17.0 evicts `new` in this cluster, whatever its pods name."""
    found = _of_another_scheduler("new", keeps_group=True)
    assert {row.workload.name for row in found.rows} == {"old", "new"}
    assert found.unmanaged == ()
    assert any(
        note.startswith("1 running workload uses another scheduler but belongs to a pod group") for note in found.notes
    )


def test_pods_of_kai_without_a_pod_group_may_be_evicted() -> None:
    objects = [made for made in objects_of(CASES[0]) if made["metadata"]["name"] != "pg-new"]
    for made in objects:
        if made["metadata"]["name"] == "new-0":
            made["metadata"]["annotations"] = {}
    found = kai_fates(*cluster_states(objects, objects, now=None))
    assert found.why_incomplete == "1 running pod scheduled by KAI Scheduler has no pod group"
