"""A cluster of Koordinator in tests: its configuration, quotas, and a run of a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from apportion_runtime.engines.koordinator.model import MODEL as KOORDINATOR
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]
GPU = "nvidia.com/gpu"
ROOT = "koordinator-root-quota"
_PREFIX = "quota.scheduling.koordinator.sh"
_FIT = {"cpu": {"type": "LeastAllocated", "weight": 1}, GPU: {"type": "MostAllocated", "weight": 1}}
TWO_NODES = "nodes: [{pool: gpu, count: 2, gpus: 4, cpu: 32, memory: 128Gi}]\nuntil: 1h\n"


def enabled(*names: str) -> Made:
    return {"enabled": [{"name": name} for name in names]}


def profile(gang: Mapping[str, object] | None = None, **quota: object) -> Made:
    """The scheduler's profile, with arguments of its quota and gang plugins."""
    arguments = {"enableCheckParentQuota": True, "monitorAllQuotas": True, **quota}
    return {
        "schedulerName": "koord-scheduler",
        "pluginConfig": [
            {"name": "ElasticQuota", "args": arguments},
            {"name": "NodeResourcesFitPlus", "args": {"resources": _FIT}},
            {"name": "Coscheduling", "args": gang or {}},
        ],
        "plugins": {
            "preFilter": enabled("ElasticQuota"),
            "postFilter": {"disabled": [{"name": "*"}], **enabled("Coscheduling", "ElasticQuota")},
            "permit": enabled("Coscheduling"),
            "preScore": enabled("NodeResourcesFitPlus"),
            "score": {
                "disabled": [{"name": "NodeResourcesFit"}],
                "enabled": [{"name": "NodeResourcesFitPlus", "weight": 10}],
            },
        },
    }


def config_map(*profiles: Made) -> Made:
    text = yaml.safe_dump({"kind": "KubeSchedulerConfiguration", "profiles": list(profiles)})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "koord-scheduler-config", "namespace": "koordinator-system"},
        "data": {"koord-scheduler-config": text},
    }


def quota(
    name: str,
    least: int,
    most: int,
    *,
    parent: str = ROOT,
    is_parent: bool = False,
    lends: bool = True,
    weight: int = 1,
    namespaces: tuple[str, ...] = (),
    resource: str = GPU,
) -> Made:
    """An ElasticQuota that counts one resource."""
    labels = {f"{_PREFIX}/parent": parent, f"{_PREFIX}/is-parent": str(is_parent).lower()}
    annotations = {f"{_PREFIX}/shared-weight": json.dumps({resource: str(weight)})}
    if not lends:
        labels[f"{_PREFIX}/allow-lent-resource"] = "false"
    if namespaces:
        annotations[f"{_PREFIX}/namespaces"] = json.dumps(namespaces)
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": name, "namespace": "koordinator-system", "labels": labels, "annotations": annotations},
        "spec": {"min": {resource: str(least)}, "max": {resource: str(most)}},
    }


def priority_class(name: str, value: int) -> Made:
    metadata = {"name": name}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value}


def run(text: str, *objects: Made, config: Made | None = None) -> History:
    scenario = read_scenario(text, lambda name: [], KOORDINATOR.workload_labels)
    return Cluster((config or config_map(profile()), *objects), scenario, KOORDINATOR).run()


def times(history: History, what: str, workload: str) -> list[float]:
    return [fact.at_s for fact in history.facts if fact.what == what and fact.workload == workload]


def pods(history: History, what: str, workload: str) -> list[str]:
    return [fact.pod for fact in history.facts if fact.what == what and fact.workload == workload]


def why(history: History, what: str, workload: str) -> str:
    return next(fact.why for fact in history.facts if fact.what == what and fact.workload == workload)
