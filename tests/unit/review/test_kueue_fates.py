"""Fates of running work under Kueue, one case for each rule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.review.kueue_objects import objects_of, time_of

from apportion_review.fates import kueue_cycles
from apportion_review.fates.kueue import kueue_fates
from apportion_review.fates.records import EngineFates, Fate

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "kueue-fates.yaml").read_text())


def changed(cluster: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """A description with some values replaced; null removes one."""
    made = dict(cluster)
    for key, value in change.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, Mapping):
            made[key] = changed(made.get(key, {}), value)
        else:
            made[key] = value
    return made


def fates_of(case: Mapping[str, Any]) -> EngineFates:
    """The fates of a case."""
    base, head = list(objects_of(case)), list(objects_of(changed(case, case["head"])))
    return kueue_fates(base, head, now=None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_fates(case: dict[str, Any]) -> None:
    found = fates_of(case)
    base = {row.workload.name: row.base.fate.value for row in found.rows}
    head = {row.workload.name: row.head.fate.value for row in found.rows}
    assert head == case["fates"], [row.head for row in found.rows]
    assert base == {name: case.get("base", {}).get(name, "safe") for name in head}, [row.base for row in found.rows]
    assert any(case.get("rule", "") in row.head.rule for row in found.rows)


def test_workload_has_owner_and_gpu_model() -> None:
    (row,) = fates_of(CASES[0]).rows
    assert row.workload.key == "Job a/w"
    assert (row.workload.queue, row.workload.gpus, row.workload.n_pods) == ("a", {"h100": 8000}, 8)
    assert row.workload.started is not None


def test_assumptions_are_noted() -> None:
    found = fates_of(next(case for case in CASES if case["name"].startswith("without a Configuration")))
    assert any("Configuration is not in the input" in note for note in found.notes)
    assert any("failed nodes" in note for note in found.notes)
    unread = fates_of(CASES[-1])
    assert any(note.startswith("The head cannot be evaluated: ClusterQueue a") for note in unread.notes)


def test_pods_without_a_workload_are_counted() -> None:
    objects = [*objects_of(CASES[0])]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "alone", "namespace": "x", "creationTimestamp": time_of(0)},
        "spec": {"nodeName": "n", "containers": []},
        "status": {"phase": "Running"},
    }
    found = kueue_fates([*objects, pod], [*objects, pod], now=None)
    assert [(each.kind, each.name, each.n_pods) for each in found.unmanaged] == [("Pod", "alone", 1)]


def test_pods_of_a_workload_that_is_not_admitted_are_noted() -> None:
    objects = [*objects_of(next(case for case in CASES if case.get("pending")))]
    waiting = next(m for m in objects if m["kind"] == "Workload" and not m.get("status", {}).get("admission"))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "late", "controller": True}
    waiting["metadata"]["ownerReferences"] = [owner]
    namespace = waiting["metadata"]["namespace"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "late-0", "namespace": namespace, "ownerReferences": [owner]},
        "spec": {"nodeName": "n", "containers": []},
        "status": {"phase": "Running"},
    }
    found = kueue_fates([*objects, pod], [*objects, pod], now=None)
    assert found.unmanaged == ()
    assert any(note.startswith("1 running workload is not admitted by Kueue") for note in found.notes)


@pytest.mark.parametrize(("bound", "value"), [("_MAX_COMPARISONS", -1), ("_MAX_CYCLES", 0)])
def test_incomplete_simulation_leaves_fates_unknown(monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    monkeypatch.setattr(kueue_cycles, bound, value)
    found = fates_of(next(case for case in CASES if case["name"].startswith("waiting work reclaims")))
    assert [row.head.fate for row in found.rows] == [Fate.ON_DEMAND]
    assert found.why_incomplete == "the simulation reached its cycle limit"
