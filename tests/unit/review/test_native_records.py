"""Which clusters recorded runs of kube-scheduler stand behind."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.review.pod_objects import objects_of

from apportion_review.fates.native_records import is_recorded

Made = dict[str, Any]
OTHER_NAMES = {"profiles": [{"schedulerName": "apportion-cpu", "pluginConfig": [{"name": "NodeAffinity"}]}]}
WRITTEN = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit"}, {"name": "PodTopologySpread"}]}]}
CHANGED = {"profiles": [{"plugins": {"score": {"disabled": [{"name": "NodeAffinity"}]}}}]}


def cluster(*, pending: bool = True, more: list[Made] | None = None) -> list[Made]:
    waiting = {"wanted": {"gpus": 8, "class": "high", "pending": True}} if pending else {}
    return list(objects_of({"objects": more or [], "pods": {"w": {"gpus": 16}, **waiting}}, is_head=False))


def with_running(objects: list[Made], **spec: Any) -> list[Made]:
    pod = next(made for made in objects if made["kind"] == "Pod")
    return [{**made, "spec": {**made["spec"], **spec}} if made is pod else made for made in objects]


def configuration(said: Made) -> Made:
    kind = "KubeSchedulerConfiguration"
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": kind, "metadata": {"name": "s"}, **said}


def test_clusters_like_those_of_the_runs() -> None:
    assert is_recorded(cluster())
    assert is_recorded(cluster(more=[configuration(WRITTEN), configuration(OTHER_NAMES)]))


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"podAntiAffinity": {}}},
        {"topologySpreadConstraints": [{"maxSkew": 1}]},
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
        {"containers": [{"name": "main", "ports": [{"hostPort": 80}]}]},
    ],
)
def test_unrecorded_feature_counts_only_with_pending_pods(spec: Made) -> None:
    assert not is_recorded(with_running(cluster(), **spec))
    assert is_recorded(with_running(cluster(pending=False), **spec))


def test_kubernetes_system_pods_are_ignored() -> None:
    system = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "dns", "namespace": "kube-system"},
        "spec": {"nodeName": "n", "affinity": {"podAntiAffinity": {}}, "containers": []},
    }
    assert is_recorded([*cluster(), system])


def test_plugins_that_are_switched_are_not_recorded() -> None:
    assert not is_recorded(cluster(more=[configuration(CHANGED)]))


def test_replicas_that_wait_are_spread_by_default_and_not_recorded() -> None:
    template = {"spec": {"containers": [{"name": "main"}]}}
    spec = {"replicas": 1, "template": template}
    metadata = {"name": "w", "namespace": "b"}
    replicas = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}
    assert not is_recorded(cluster(pending=False, more=[replicas]))
