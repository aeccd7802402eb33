"""Drift, destructive changes, and changes by field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from apportion_cli.main import main
from apportion_compiler.rollout.destructive_changes import CLASS_VALUE, QUEUE_WITH_CHILDREN, destructive_changes
from apportion_compiler.rollout.differences import FieldChange, differences
from apportion_compiler.rollout.drift import DriftedObject, drift
from apportion_compiler.rollout.identity import identity_of

LABELS = {"app.kubernetes.io/managed-by": "apportion", "apportion.dev/queue-id": "vision"}
QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "vision", "labels": LABELS},
    "spec": {"parentQueue": "research", "resources": {"gpu": {"quota": 8, "limit": -1}}, "tags": ["a", "b"]},
}


def _there(**metadata: Any) -> dict[str, Any]:
    """As the API server holds it: with defaults and a status of its own."""
    found = copy.deepcopy(QUEUE)
    found["metadata"] |= {"uid": "1", "resourceVersion": "7", **metadata}
    found["spec"]["priority"] = 100
    found["status"] = {"allocated": {"gpu": 3}}
    return found


def test_server_and_controller_fields_are_not_drift() -> None:
    assert drift([QUEUE], [_there()]) == ()


def test_manual_change_is_drift() -> None:
    there = _there()
    there["spec"]["resources"]["gpu"]["quota"] = 12
    there["spec"]["tags"] = ["a"]
    (found,) = drift([QUEUE], [there])
    assert found.fields == (
        ("spec.resources.gpu.quota", 8, 12),
        ("spec.tags", ["a", "b"], ["a"]),
    )


def test_removed_fields_and_objects_are_drift() -> None:
    there = _there()
    del there["metadata"]["labels"]["apportion.dev/queue-id"]
    (found,) = drift([QUEUE], [there])
    assert found.fields == (("metadata.labels[apportion.dev/queue-id]", "vision", None),)
    assert drift([QUEUE], []) == (DriftedObject("missing", identity_of(QUEUE)),)


def test_added_field_is_drift_unless_a_controller_owns_it() -> None:
    added = {"f:spec": {"f:resources": {"f:gpu": {"f:overQuotaWeight": {}, "f:quota": {}}}}}
    for manager, fields in (("kubectl-edit", (("spec.resources.gpu.overQuotaWeight", None, 3),)), ("operator", ())):
        there = _there(managedFields=[{"manager": manager, "operation": "Update", "fieldsV1": added}])
        there["spec"]["resources"]["gpu"]["overQuotaWeight"] = 3
        found = drift([QUEUE], [there])
        assert tuple(field for one in found for field in one.fields) == fields


def test_formerly_managed_object_is_reported_as_left_over() -> None:
    other = _there()
    other["metadata"]["name"] = "old"
    somebodys = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
    assert drift([QUEUE], [_there(), other, somebodys]) == (DriftedObject("left", identity_of(other)),)


def test_changes_are_reported_by_field() -> None:
    wanted = copy.deepcopy(QUEUE)
    wanted["spec"]["resources"]["gpu"] = {"quota": 9}
    (change,) = differences([QUEUE], [wanted])
    assert change.fields == (
        FieldChange("spec.resources.gpu.quota", 8, 9),
        FieldChange("spec.resources.gpu.limit", -1, None),
    )


def _class(value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "train"},
        "value": value,
    }


def _queue(name: str, parent: str | None = None) -> dict[str, Any]:
    labels = {"apportion.dev/queue-id": name}
    return {**QUEUE, "metadata": {"name": name, "labels": labels}, "spec": {"parentQueue": parent}}


def test_changed_class_value_is_destructive() -> None:
    (found,) = destructive_changes(differences([_class(50)], [_class(60)]))
    assert (found.kind, "from 50 to 60" in found.text) == (CLASS_VALUE, True)
    assert list(destructive_changes(differences([_class(50)], [{**_class(50), "description": "tier"}]))) == []


def test_deleting_a_parent_queue_is_destructive() -> None:
    former = [_queue("research"), _queue("vision", "research"), _queue("nlp", "research")]
    changes = differences(former, [])
    (found,) = destructive_changes(changes)
    assert (found.kind, found.text) == (
        QUEUE_WITH_CHILDREN,
        "Queue research is deleted with everything below it: nlp, vision",
    )
    assert list(destructive_changes(differences(former, former[:2]))) == []


@pytest.fixture
def rendered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, list[dict[str, Any]]]:
    import yaml

    policy = Path(__file__).parents[2] / "e2e" / "policies" / "two-teams"
    assert main(["compile", str(policy), "-e", "queued", "--out", str(tmp_path / "out"), "--as-of", "2026-01-01"]) == 0
    found: list[dict[str, Any]] = []
    for inventory in sorted((tmp_path / "out").glob("*/*/*/inventory.json")):
        names = dict.fromkeys(entry["file"] for entry in json.loads(inventory.read_text())["objects"])
        found += [one for name in names for one in yaml.safe_load_all((inventory.parent / name).read_text())]
    capsys.readouterr()
    return policy, found


def test_drift_of_an_export_exits_with_10(
    rendered: tuple[Path, list[dict[str, Any]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, objects = rendered
    environment = objects[0]["metadata"]["labels"]["apportion.dev/environment"]
    export = tmp_path / "export.json"
    ask = ["drift", environment, "-p", str(policy), "--export", str(export), "--as-of", "2026-01-01"]
    export.write_text(json.dumps({"kind": "List", "items": objects}))
    assert main(ask) == 0
    assert capsys.readouterr().out == f"{environment}: no drift\n"
    export.write_text(json.dumps({"kind": "List", "items": objects[1:]}))
    assert main([*ask, "-o", "json"]) == 10
    document = json.loads(capsys.readouterr().out)
    assert [one["state"] for one in document["objects"]] == ["missing"]
    assert document["objects"][0]["name"] == objects[0]["metadata"]["name"]


@pytest.mark.parametrize("text", ["{}", "[]", "plain words", '{"kind": "List", "items": 3}'])
def test_invalid_export_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = Path(__file__).parents[2] / "e2e" / "policies" / "two-teams"
    (tmp_path / "export.json").write_text(text)
    assert main(["drift", "queued", "-p", str(policy), "--export", str(tmp_path / "export.json")]) == 3
    assert "apportion: error: " in capsys.readouterr().err


def test_older_kueue_api_version_is_not_drift() -> None:
    written: dict[str, Any] = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "a"},
        "spec": {"cohortName": "research", "flavorFungibility": {"whenCanBorrow": "MayStopSearch"}},
    }
    former = {"cohort": "research", "flavorFungibility": {"whenCanBorrow": "Borrow"}}
    there = {**written, "apiVersion": "kueue.x-k8s.io/v1beta1", "spec": former}
    assert drift([written], [there]) == ()
    (found,) = drift([written], [{**there, "spec": {**former, "cohort": "product"}}])
    assert found.fields == (("spec.cohortName", "research", "product"),)


@pytest.mark.parametrize(
    ("stored", "drifted"),
    [
        ([{"name": "b", "min": {"cpu": 2}}, {"name": "a", "min": {"cpu": "1000m"}}], []),
        ([{"name": "b", "min": {"cpu": 3}}, {"name": "a", "min": {"cpu": 1}}], [("spec.root.children[1].min.cpu", "2", 3)]),
        ([{"name": "a", "min": {"cpu": 1}}, {"name": "c", "min": {"cpu": 2}}], [("spec.root.children[1].name", "b", "c")]),
    ],
)  # fmt: skip
def test_queue_order_and_quantity_notation_are_not_drift(
    stored: list[dict[str, Any]], drifted: list[tuple[str, object, object]]
) -> None:
    def tree(children: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "apiVersion": "scheduling.sigs.k8s.io/v1beta1", "kind": "ElasticQuotaTree",
            "metadata": {"name": "elasticquotatree", "namespace": "kube-system"},
            "spec": {"root": {"name": "root", "children": children}},
        }  # fmt: skip

    written = tree([{"name": "a", "min": {"cpu": "1"}}, {"name": "b", "min": {"cpu": "2"}}])
    assert [field for found in drift([written], [tree(stored)]) for field in found.fields] == drifted
