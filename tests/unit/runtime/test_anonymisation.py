"""Anonymised snapshots: nothing identifies anyone, and references still match."""

from __future__ import annotations

import json
from typing import Any

from apportion_runtime.snapshots.anonymisation import anonymised

SECRET = "zebra"
"""Occurs in every field that must not be kept."""


def _pod() -> dict[str, Any]:
    selector = {"matchLabels": {f"{SECRET}.com/app": SECRET}}
    term = {"labelSelector": selector, "topologyKey": f"{SECRET}.com/rack", "namespaces": [f"ns-{SECRET}"]}
    expression = {"key": f"{SECRET}-kubernetes.io/x", "operator": "In", "values": [SECRET]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"train-{SECRET}",
            "namespace": f"ns-{SECRET}",
            "uid": f"uid-{SECRET}",
            "labels": {
                "kai.scheduler/queue": "team-a",
                "kai.scheduler/subgroup-name": SECRET,
                f"{SECRET}.com/app": SECRET,
                "user": SECRET,
                "topology.kubernetes.io/zone": SECRET,
            },
            "annotations": {
                "pod-group-name": f"pg-{SECRET}",
                "gpu-fraction": "0.5",
                "mail": SECRET,
                "kai.scheduler/top-owner-metadata": SECRET,
                "kai.scheduler/topology-required-placement": f"{SECRET}.com/rack",
            },
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": SECRET, "uid": f"uid-{SECRET}"}],
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "nodeName": f"node-{SECRET}",
            "serviceAccountName": SECRET,
            "schedulingGates": [{"name": f"{SECRET}.com/gate"}],
            "containers": [
                {
                    "name": SECRET,
                    "image": f"registry/{SECRET}",
                    "command": [SECRET],
                    "env": [{"name": SECRET, "value": SECRET}],
                    "resources": {"requests": {"cpu": "1"}, "claims": [{"name": SECRET}]},
                }
            ],
            "volumes": [{"name": SECRET}],
            "nodeSelector": {f"{SECRET}.com/pool": SECRET},
            "tolerations": [{"key": f"{SECRET}.com/taint", "value": SECRET}],
            "affinity": {
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [expression]}]
                    }
                },
            },
        },
        "status": {
            "phase": "Running",
            "podIP": SECRET,
            "conditions": [{"type": "PodScheduled", "status": "True", "message": SECRET}, {"type": f"{SECRET}/ready"}],
        },
    }


def _others() -> list[dict[str, Any]]:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"node-{SECRET}",
            "labels": {
                "kubernetes.io/hostname": f"node-{SECRET}",
                f"{SECRET}.com/rack": SECRET,
                "nvidia.com/gpu.count": "8",
            },
        },
        "spec": {
            "providerID": SECRET,
            "taints": [{"key": f"{SECRET}.com/taint", "value": SECRET, "effect": "NoSchedule"}],
        },
        "status": {"allocatable": {"cpu": "8"}, "addresses": [{"address": SECRET}], "nodeInfo": {"machineID": SECRET}},
    }
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": f"pg-{SECRET}", "namespace": f"ns-{SECRET}", "annotations": {"note": SECRET}},
        "spec": {
            "queue": "team-a",
            "minMember": 1,
            "subGroups": [{"name": SECRET, "minMember": 1}],
            "topologyConstraint": {"topology": "racks", "requiredTopologyLevel": f"{SECRET}.com/rack"},
        },
    }
    topology = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "racks"},
        "spec": {"levels": [{"nodeLabel": f"{SECRET}.com/rack"}]},
    }
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "team-a", "annotations": {"owner": SECRET}, "labels": {"app": SECRET}},
        "spec": {"displayName": SECRET, "priority": 7},
    }
    config = {
        "apiVersion": "kai.scheduler/v1",
        "kind": "Config",
        "metadata": {"name": "kai-config"},
        "spec": {"x": SECRET},
    }
    return [node, group, topology, queue, config]


def test_nothing_that_identifies_is_left_and_references_still_match() -> None:
    written = anonymised([_pod(), *_others()])
    assert SECRET not in json.dumps(written)
    made = {one["kind"]: one for one in written}
    assert made.keys() == {"Pod", "Node", "PodGroup", "Topology", "Queue"}
    pod, node, group = made["Pod"], made["Node"], made["PodGroup"]
    assert pod["spec"]["nodeName"] == node["metadata"]["name"] == node["metadata"]["labels"]["kubernetes.io/hostname"]
    assert pod["metadata"]["annotations"]["pod-group-name"] == group["metadata"]["name"]
    assert pod["metadata"]["namespace"] == group["metadata"]["namespace"]
    assert pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] == group["spec"]["subGroups"][0]["name"]
    assert pod["metadata"]["labels"]["kai.scheduler/queue"] == "team-a"
    (level,) = made["Topology"]["spec"]["levels"]
    assert level["nodeLabel"] == group["spec"]["topologyConstraint"]["requiredTopologyLevel"]
    assert level["nodeLabel"] in node["metadata"]["labels"]
    (toleration,), (taint,) = pod["spec"]["tolerations"], node["spec"]["taints"]
    assert (toleration["key"], toleration["value"]) == (taint["key"], taint["value"])
    (term,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["containers"] == [{"name": "container-0", "resources": {"requests": {"cpu": "1"}}}]
    assert made["Queue"]["spec"] == {"priority": 7}
