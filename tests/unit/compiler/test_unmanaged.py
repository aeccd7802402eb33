"""Unmanaged queues and quotas below applied ones are drift; objects that engines create are not."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_compiler.rollout.drift import drift

PARENT = "quota.scheduling.koordinator.sh/parent"
KAI, KUEUE, VOLCANO = "scheduling.run.ai/v2", "kueue.x-k8s.io/v1beta2", "scheduling.volcano.sh/v1beta1"
QUOTA = "scheduling.sigs.k8s.io/v1alpha1"


def _made(api: str, kind: str, name: str, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec or {}}


WRITTEN = [
    _made("v1", "Namespace", "research"),
    _made("v1", "ResourceQuota", "apportion", namespace="research"),
    _made("v1", "LimitRange", "apportion", namespace="research"),
    _made(KAI, "Queue", "research"),
    _made(KUEUE, "Cohort", "research"),
    _made(KUEUE, "ClusterQueue", "vision", {"cohortName": "named-only"}),
    _made(VOLCANO, "Queue", "research", {"parent": "root"}),
    _made(QUOTA, "ElasticQuota", "research", labels={PARENT: "koordinator-root-quota"}, namespace="koordinator-system"),
]
BELOW = [
    _made(KAI, "Queue", "mine", {"parentQueue": "research"}),
    _made(KUEUE, "ClusterQueue", "mine", {"cohortName": "research"}),
    _made(KUEUE, "ClusterQueue", "beside", {"cohortName": "named-only"}),
    _made("kueue.x-k8s.io/v1beta1", "ClusterQueue", "older", {"cohort": "research"}),
    _made(KUEUE, "Cohort", "mine", {"parentName": "research"}),
    _made(KUEUE, "LocalQueue", "mine", {"clusterQueue": "vision"}, namespace="elsewhere"),
    _made(VOLCANO, "Queue", "mine", {"parent": "research"}),
    _made(QUOTA, "ElasticQuota", "mine", labels={PARENT: "research"}, namespace="elsewhere"),
    _made("v1", "ResourceQuota", "mine", namespace="research"),
    _made("v1", "LimitRange", "mine", namespace="research"),
    _made(KAI, "Queue", "copied", labels={"apportion.dev/queue-id": "research"}),
]
OTHERS = [
    _made(KAI, "Queue", "default-parent-queue"),
    _made(KAI, "Queue", "default-queue", {"parentQueue": "default-parent-queue"}),
    _made(KUEUE, "ClusterQueue", "theirs", {"cohortName": "theirs"}),
    _made(KUEUE, "LocalQueue", "theirs", {"clusterQueue": "theirs"}, namespace="research"),
    _made(VOLCANO, "Queue", "root"),
    _made(VOLCANO, "Queue", "default", {"parent": "root"}),
    _made(QUOTA, "ElasticQuota", "koordinator-default-quota", labels={PARENT: "koordinator-root-quota"}),
    _made(QUOTA, "ElasticQuota", "mirrored", labels={PARENT: "research"}, ownerReferences=[{"controller": True}]),
    _made("v1", "ResourceQuota", "gke-resource-quotas", namespace="research"),
    _made("v1", "ResourceQuota", "theirs", namespace="theirs"),
    _made("v1", "Pod", "bound", labels={"apportion.dev/queue-id": "research"}, namespace="research"),
]


@pytest.mark.parametrize("made", BELOW, ids=lambda made: f"{made['kind']}-{made['metadata']['name']}")
def test_unmanaged_objects_below_applied_ones_are_drift(made: dict[str, Any]) -> None:
    (found,) = drift(WRITTEN, [*WRITTEN, made])
    assert (found.state, found.identity.kind, found.identity.name) == (
        "unmanaged",
        made["kind"],
        made["metadata"]["name"],
    )
    ((_, was, there),) = found.fields
    assert (was, there in ("research", "vision", "named-only")) == (None, True)


def test_descendants_are_drift_too_in_any_order() -> None:
    queues = [
        _made(KAI, "Queue", name, {"parentQueue": parent})
        for name, parent in (("b", "a"), ("c", "b"), ("a", "research"))
    ]
    assert [found.identity.name for found in drift(WRITTEN, [*queues, *WRITTEN])] == ["a", "b", "c"]


@pytest.mark.parametrize("made", OTHERS, ids=lambda made: f"{made['kind']}-{made['metadata']['name']}")
def test_objects_of_engines_and_unrelated_objects_are_not_drift(made: dict[str, Any]) -> None:
    assert drift(WRITTEN, [*WRITTEN, made]) == ()


def test_quotas_of_a_namespace_are_a_teams_own_where_the_policy_writes_none() -> None:
    written = [made for made in WRITTEN if made["kind"] not in ("ResourceQuota", "LimitRange")]
    assert drift(written, [*written, *BELOW[8:10]]) == ()


def test_node_added_to_a_tree_is_drift() -> None:
    tree = _made("scheduling.sigs.k8s.io/v1beta1", "ElasticQuotaTree", "tree", {"root": {"children": [{"name": "a"}]}})
    there = _made(
        "scheduling.sigs.k8s.io/v1beta1",
        "ElasticQuotaTree",
        "tree",
        {"root": {"children": [{"name": "a"}, {"name": "b"}]}},
    )
    (found,) = drift([tree], [there])
    assert found.state == "changed"
    config = _made("v1", "ConfigMap", "yunikorn-configs")
    (found,) = drift([{**config, "data": {"queues.yaml": "a"}}], [{**config, "data": {"queues.yaml": "b"}}])
    assert found.state == "changed"
