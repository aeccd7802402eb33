"""Adoption of a cluster with an existing Kueue setup: no drift, no renames, and Kueue accepts the output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from apportion_cli.main import main

from .conftest import KueueWith
from .kubectl import Kubectl

pytestmark = pytest.mark.e2e

FLEET = Path(__file__).parents[1] / "data" / "kueue-clusters" / "fleet.yaml"
KINDS = (
    "topologies.kueue.x-k8s.io,resourceflavors,provisioningrequestconfigs,admissionchecks,cohorts,clusterqueues,"
    "localqueues,workloadpriorityclasses"
)

_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}


@pytest.fixture(scope="module")
def kueue(kueue_with: KueueWith) -> Iterator[Kubectl]:
    kubectl = kueue_with({})
    objects = list(yaml.safe_load_all(FLEET.read_text(encoding="utf-8")))
    namespaces = sorted({o["metadata"]["namespace"] for o in objects if "namespace" in o["metadata"]})
    made = kubectl.create(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in namespaces))
    assert made.said == ""
    assert kubectl.create(*objects).said == ""
    yield kubectl
    # Other tests share the cluster. Queues protect the objects that they reference, so they are deleted first.
    kubectl.delete_objects([*reversed(objects), *({**_NAMESPACE, "metadata": {"name": n}} for n in namespaces)])


def _export(kubectl: Kubectl, file: Path) -> Path:
    answer = kubectl.must("get", KINDS, "--all-namespaces", "--output=json", "--show-managed-fields")
    file.write_text(json.dumps(answer.json()), encoding="utf-8")
    return file


def test_adoption_changes_nothing(kueue: Kubectl, tmp_path: Path) -> None:
    export, policy, rendered = _export(kueue, tmp_path / "before.json"), tmp_path / "policy", tmp_path / "rendered"
    _run("import", "--from", "kueue", export, "--out", policy, "--owner", "@acme/platform")
    _run("drift", "prod", "--export", export, "-p", policy)
    _run("compile", policy, "--out", rendered)
    written = [one for file in sorted(rendered.rglob("*.yaml")) for one in yaml.safe_load_all(file.read_text()) if one]
    objects = [one for one in written if str(one.get("apiVersion")).startswith("kueue.x-k8s.io/")]
    applied = kueue.apply_objects(objects)
    assert applied.accepted, applied.said
    after = _export(kueue, tmp_path / "after.json")
    assert _specs(after) == _specs(export)
    _run("drift", "prod", "--export", after, "-p", policy)


def _run(*arguments: object) -> None:
    assert main([str(argument) for argument in arguments]) == 0


def _specs(export: Path) -> dict[tuple[str, str | None, str], object]:
    objects = json.loads(export.read_text(encoding="utf-8"))["items"]
    return {
        (o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o.get("spec", o.get("value"))
        for o in objects
    }
