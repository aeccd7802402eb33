"""Clusters with an existing setup: import and compile give no drift and no renames."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from .conftest import Run

CLUSTERS = sorted((Path(__file__).parents[2] / "data" / "kueue-clusters").glob("*.yaml"))


def _imported(run: Run, cluster: Path) -> None:
    result = run("import", "--from", "kueue", cluster, "--out", "policy", "--owner", "@acme/platform")
    assert (result.code, "not kept" in result.err) == (0, False), result.err


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda path: path.stem)
def test_adopted_cluster_has_no_drift(run: Run, cluster: Path) -> None:
    _imported(run, cluster)
    found = run("drift", "prod", "--export", cluster, "-p", "policy", "-o", "json")
    assert json.loads(found.out)["objects"] == []
    assert found.code == 0


def test_adoption_renames_no_object(run: Run) -> None:
    (fleet,) = (cluster for cluster in CLUSTERS if cluster.stem == "fleet")
    _imported(run, fleet)
    assert run("compile", "policy", "--out", "rendered").code == 0
    written = [one for path in Path("rendered").rglob("*.yaml") for one in yaml.safe_load_all(path.read_text())]
    objects = [one for one in written if one and str(one.get("apiVersion")).startswith("kueue.x-k8s.io/")]
    assert {_name(one) for one in objects} == {_name(one) for one in yaml.safe_load_all(fleet.read_text())}


def test_changed_guarantee_changes_quotas_of_its_flavors(run: Run) -> None:
    (fleet,) = (cluster for cluster in CLUSTERS if cluster.stem == "fleet")
    _imported(run, fleet)
    team = next(
        path
        for path in Path("policy/teams").glob("*.py")
        if 'id="vision"' in path.read_text() or 'id="cq-vision"' in path.read_text()
    )
    team.write_text(team.read_text().replace("gpu=56", "gpu=48").replace('"h100": 56', '"h100": 48'), encoding="utf-8")
    refused = run("validate", "policy")
    assert refused.code == 1
    assert "error[AP520]" in refused.out


KAI_CHART = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata:
  name: default-parent-queue
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {helm.sh/resource-policy: keep, argocd.argoproj.io/sync-options: Prune=false}
spec:
  resources:
    cpu: {quota: 0, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 0, limit: -1, overQuotaWeight: 1}
    memory: {quota: 0, limit: -1, overQuotaWeight: 1}
---
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default, annotations: {helm.sh/resource-policy: keep}}
spec: {partitionLabelValue: "", goMemLimitRatio: 0.9, placementStrategy: {gpu: binpack, cpu: binpack}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: train, labels: {app.kubernetes.io/managed-by: Helm}}
value: 50
---
apiVersion: v1
kind: Namespace
metadata: {name: vision}
"""
"""The objects that KAI's chart installs (templates/default-queue.yaml, default-shard.yaml), and a namespace."""


def test_adopted_kai_installation_changes_only_queues(run: Run) -> None:
    Path("export.yaml").write_text(KAI_CHART, encoding="utf-8")
    imported = run("import", "--from", "kai", "export.yaml", "--out", "policy", "--owner", "@acme/platform")
    assert (imported.code, "is dropped" in imported.err) == (0, False), imported.err
    assert "SchedulingShard: not part of the policy and left unchanged: default\n" in imported.err
    found = run("drift", "prod", "--export", "export.yaml", "-p", "policy")
    assert (found.code, found.out) == (0, "prod: no drift\n")
    assert run("compile", "policy", "--out", "rendered").code == 0
    written = [one for path in Path("rendered").rglob("*.yaml") for one in yaml.safe_load_all(path.read_text())]
    assert {(one["kind"], one["metadata"]["name"]) for one in written if "metadata" in one} == {
        ("Queue", "default-parent-queue")
    }


def test_changed_default_shard_is_compared_by_field(run: Run) -> None:
    Path("export.yaml").write_text(KAI_CHART.replace("gpu: binpack", "gpu: spread"), encoding="utf-8")
    imported = run("import", "--from", "kai", "export.yaml", "--out", "policy")
    assert "SchedulingShard default: `spec.goMemLimitRatio: 0.9` is dropped" in imported.err
    assert imported.code == 1


def test_import_notes_unsupported_fields_with_values(run: Run) -> None:
    Path("one.yaml").write_text(
        """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: vision}
spec: {weight: 3, extendClusters: [{name: east, weight: 5}], made_up: {deep: [1, "two"]}}
""",
        encoding="utf-8",
    )
    result = run("import", "--from", "volcano", "one.yaml", "--out", "policy")
    assert result.code == 1
    for field in ("spec.extendClusters[0].name: east", "spec.made_up.deep[0]: 1", "spec.made_up.deep[1]: two"):
        assert f"Queue vision: `{field}` is dropped" in result.err
    assert (
        "spec.made_up.deep[1]: two"
        in Path("policy/policy.py").read_text() + next(Path("policy/teams").glob("*.py")).read_text()
    )
    assert run("import", "--from", "volcano", "one.yaml", "--out", "policy", "--force", "--accept-loss").code == 0


def test_policy_errors_do_not_hide_lost_fields(run: Run) -> None:
    """Pod Security's label on a Namespace is none that a queue may set; what else is lost is named all the same."""
    namespace = {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "ads", "labels": {"pod-security.kubernetes.io/enforce": "baseline"}},
    }  # fmt: skip
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gold-only", "namespace": "ads"},
        "spec": {"hard": {"pods": "10"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}},
    }  # fmt: skip
    limits = {
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults", "namespace": "ads"},
        "spec": {"limits": [{"type": "Pod", "max": {"cpu": "128"}}]},
    }  # fmt: skip
    Path("export.yaml").write_text(yaml.safe_dump_all([namespace, quota, limits]))
    result = run("import", "--from", "native", "export.yaml", "--out", "policy", "--owner", "@acme/platform")
    assert result.code == 1
    for told in (
        "the policy does not compile",
        "ResourceQuota ads/gold-only: `spec.hard.pods: 10`",
        "`spec.limits[0].max.cpu: 128`",
    ):
        assert told in result.err, result.err


def test_import_notes_include_validation_errors(run: Run) -> None:
    def queue(name: str, cpu: int) -> dict[str, object]:
        amounts = {"quota": cpu, "limit": -1, "overQuotaWeight": 1}
        return {
            "apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
            "spec": {"resources": {"cpu": amounts, "memory": {**amounts, "quota": 0}, "gpu": {**amounts, "quota": 0}}},
        }  # fmt: skip

    Path("export.yaml").write_text(yaml.safe_dump_all([queue("x", 1000), queue("y", -1)]))
    result = run("import", "--from", "kai", "export.yaml", "--out", "policy", "--owner", "@acme/platform")
    assert (result.code, "`y` is guaranteed unlimited cpu" in result.err) == (1, True), result.err


def _name(manifest: dict[str, object]) -> tuple[object, object, object]:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return manifest["kind"], metadata.get("namespace"), metadata["name"]
