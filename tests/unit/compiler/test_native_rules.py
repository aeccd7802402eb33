"""Raw manifests that Kubernetes itself rejects, and fields that it ignores."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_compiler.engines.native.rules import RULES

Manifest = dict[str, Any]

# The forms that a guide to AI workloads gives: https://kubernetes.io/docs is of another opinion on each.
GUIDE = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: ai-quota}
spec:
  hard:
    requests.nvidia.com/gpu: "8"
    limits.nvidia.com/gpu: "8"
    requests.memory: 128Gi
    requests.cpu: "32"
---
apiVersion: v1
kind: LimitRange
metadata: {name: ai-limits}
spec:
  limits:
  - type: Container
    default: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "1"}
    defaultRequest: {cpu: "2", memory: 4Gi, nvidia.com/gpu: "1"}
---
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: ai-scheduler
  plugins:
    score:
      enabled:
      - {name: NodeResourcesFit, weight: 1}
      - {name: GPUAffinity, weight: 2}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: gpu-node-autoscaler}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ai-workload}
  minReplicas: 1
  maxReplicas: 10
  metrics:
  - type: Resource
    resource: {name: nvidia.com/gpu, target: {type: Utilization, averageUtilization: 80}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: ai-high-priority}
value: 1000000
globalDefault: false
"""


def _verdicts(*manifests: Manifest, existing: tuple[Manifest, ...] = ()) -> list[Verdict]:
    return list(RULES.check(manifests, existing))


def _said(*manifests: Manifest, existing: tuple[Manifest, ...] = ()) -> list[tuple[str, str, str]]:
    return [(v.effect.value, v.field, v.kind) for v in _verdicts(*manifests, existing=existing)]


def _quota(hard: Manifest, **spec: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}


def _limits(**limit: Any) -> Manifest:
    spec = {"limits": [{"type": "Container", **limit}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": spec}


def _class(name: str, value: int = 1, **fields: Any) -> Manifest:
    made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    return {**made, **fields}


def _autoscaler(*metrics: Manifest, **spec: Any) -> Manifest:
    target = {"kind": "Deployment", "name": "d"}
    whole = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2, "metrics": list(metrics), **spec}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": whole}


def _scheduler(*profiles: Manifest, **fields: Any) -> Manifest:
    made = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**made, "profiles": list(profiles), **fields}


def _configured(name: str, args: Manifest) -> Manifest:
    return _scheduler({"schedulerName": "a", "pluginConfig": [{"name": name, "args": args}]})


def test_ineffective_manifests_of_the_seed_are_reported() -> None:
    found = _verdicts(*yaml.safe_load_all(GUIDE))
    assert [(v.index, v.effect, v.field) for v in found] == [
        (0, Effect.IGNORED, "spec.hard[limits.nvidia.com/gpu]"),
        (1, Effect.IGNORED, "spec.limits[0].default[nvidia.com/gpu]"),
        (2, Effect.REJECTED, "profiles[0].plugins.score.enabled[1]"),
        (3, Effect.IGNORED, "spec.metrics[0].resource.name"),
    ]
    assert all(verdict.message and verdict.cure for verdict in found)


def test_effective_quota_passes() -> None:
    hard = {
        "requests.nvidia.com/gpu": "8",
        "requests.cpu": "500m",
        "limits.memory": "1.5Gi",
        "pods": 10,
        "count/jobs.batch": "4",
        "requests.hugepages-2Mi": "4Mi",
        "requests.storage": "1Ti",
        "gold.storageclass.storage.k8s.io/requests.storage": "1Ti",
    }
    assert _said(_quota(hard)) == []


@pytest.mark.parametrize(
    ("hard", "said"),
    [
        ({"gpu": 1}, ("rejected", "spec.hard[gpu]", "Invalid")),
        ({"requests.gpu": 1}, ("rejected", "spec.hard[requests.gpu]", "Invalid")),
        ({"cpu": "-1"}, ("rejected", "spec.hard[cpu]", "Invalid")),
        ({"cpu": "lots"}, ("rejected", "spec.hard[cpu]", "Invalid")),
        ({"pods": "1500m"}, ("rejected", "spec.hard[pods]", "Invalid")),
        ({"nvidia.com/gpu": 1}, ("ignored", "spec.hard[nvidia.com/gpu]", "Uncounted")),
    ],
)
def test_ineffective_quota_is_reported(hard: Manifest, said: tuple[str, str, str]) -> None:
    assert _said(_quota(hard)) == [said]


def test_invalid_quota_scopes_are_rejected() -> None:
    assert _said(_quota({"pods": 1, "services": 1}, scopes=["BestEffort"])) == [("rejected", "spec.scopes", "Invalid")]
    assert _said(_quota({"pods": 1}, scopes=["Terminating", "NotTerminating"])) == [
        ("rejected", "spec.scopes", "Invalid")
    ]
    assert _said(_quota({"pods": 1}, scopes=["Purple"])) == [("rejected", "spec.scopes", "Invalid")]
    path = "spec.scopeSelector.matchExpressions"
    for expression, field, kind in (
        ({"scopeName": "PriorityClass", "operator": "In"}, f"{path}.values", "Required"),
        ({"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}, f"{path}.values", "Invalid"),
        ({"scopeName": "PriorityClass", "operator": "Near"}, f"{path}.operator", "Invalid"),
        ({"scopeName": "BestEffort", "operator": "In", "values": ["a"]}, f"{path}.operator", "Invalid"),
    ):
        selector = {"matchExpressions": [expression]}
        assert _said(_quota({"pods": 1}, scopeSelector=selector)) == [("rejected", field, kind)]


def test_quota_scopes_are_immutable() -> None:
    before = _quota({"pods": 1}, scopes=["BestEffort"])
    assert _said(_quota({"pods": 1}), existing=(before,)) == [("rejected", "spec.scopes", "Invalid")]
    assert _said(_quota({"pods": 2}, scopes=["BestEffort"]), existing=(before,)) == []


@pytest.mark.parametrize(
    ("limit", "field"),
    [
        ({"min": {"cpu": 2}, "max": {"cpu": 1}}, "min[cpu]"),
        ({"default": {"memory": "1Gi"}, "defaultRequest": {"memory": "2G"}}, "defaultRequest[memory]"),
        ({"default": {"cpu": "3"}, "max": {"cpu": "2500m"}}, "default[cpu]"),
        ({"maxLimitRequestRatio": {"cpu": "500m"}}, "maxLimitRequestRatio[cpu]"),
        ({"maxLimitRequestRatio": {"cpu": 4}, "min": {"cpu": 1}, "max": {"cpu": 3}}, "maxLimitRequestRatio[cpu]"),
        ({"max": {"gpu": 1}}, "max[gpu]"),
        ({"max": {"cpu": "many"}}, "max[cpu]"),
    ],
)
def test_invalid_limit_range_is_rejected(limit: Manifest, field: str) -> None:
    assert _said(_limits(**limit)) == [("rejected", f"spec.limits[0].{field}", "Invalid")]


def test_defaults_require_container_limits() -> None:
    assert _said(_limits(type="Pod", default={"cpu": 1})) == [("rejected", "spec.limits[0].default", "Forbidden")]
    assert _said(_limits(type="Node")) == [("rejected", "spec.limits[0].type", "Invalid")]
    assert _said(_limits(type="PersistentVolumeClaim")) == [("rejected", "spec.limits[0].limits", "Required")]
    twice = _limits()
    twice["spec"]["limits"] *= 2
    assert _said(twice) == [("rejected", "spec.limits[1].type", "Duplicate")]


def test_gpu_default_is_ignored() -> None:
    gpu = {"nvidia.com/gpu": 1}
    assert _said(_limits(default=gpu)) == [("ignored", "spec.limits[0].default[nvidia.com/gpu]", "DefaultForAll")]
    assert _said(_limits(defaultRequest=gpu)) == [
        ("pending", "spec.limits[0].defaultRequest[nvidia.com/gpu]", "RequestWithoutLimit")
    ]
    assert ("rejected", "spec.limits[0].defaultRequest[nvidia.com/gpu]", "Invalid") in _said(
        _limits(default={"nvidia.com/gpu": 2}, defaultRequest=gpu)
    )
    assert _said(_limits(max=gpu)) == []


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (_class("high", 1_000_000_001), ("rejected", "value", "Forbidden")),
        (_class("system-mine"), ("rejected", "metadata.name", "Forbidden")),
        (_class("a", preemptionPolicy="Sometimes"), ("rejected", "preemptionPolicy", "NotSupported")),
    ],
)
def test_invalid_priority_class_is_rejected(manifest: Manifest, said: tuple[str, str, str]) -> None:
    assert _said(manifest) == [said]


def test_valid_priority_classes_pass() -> None:
    assert _said(_class("system-node-critical", 2_000_001_000), _class("a", -5), _class("b", 10**9)) == []


def test_priority_class_value_is_immutable() -> None:
    before = _class("a", 1)
    assert _said(_class("a", 2), existing=(before,)) == [("rejected", "value", "Forbidden")]
    assert _said(_class("a", 1, preemptionPolicy="PreemptLowerPriority"), existing=(before,)) == []
    assert _said(_class("a", 1, preemptionPolicy="Never"), existing=(before,)) == [
        ("rejected", "preemptionPolicy", "Invalid")
    ]


def test_second_default_class_is_reported() -> None:
    default = {"globalDefault": True}
    assert [v.index for v in _verdicts(_class("a", **default), _class("b"), _class("c", **default))] == [2]
    assert _said(_class("b", **default), existing=(_class("a", **default),)) == [
        ("rejected", "globalDefault", "Forbidden")
    ]
    assert _said(_class("a"), _class("b", **default), existing=(_class("a", **default),)) == []


POD_METRIC = {
    "type": "Pods",
    "pods": {"metric": {"name": "DCGM_FI_DEV_GPU_UTIL"}, "target": {"type": "AverageValue", "averageValue": "80"}},
}


@pytest.mark.parametrize(
    ("metric", "field", "kind"),
    [
        ({"type": "Guess"}, "type", "NotSupported"),
        ({"type": "Pods"}, "pods", "Required"),
        ({**POD_METRIC, "resource": POD_METRIC["pods"]}, "resource", "Forbidden"),
        (
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}},
            "resource.target.averageUtilization",
            "Required",
        ),
        (
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Share", "averageUtilization": 5}}},
            "resource.target.type",
            "Invalid",
        ),
        (
            {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": 0}}},
            "pods.target.averageValue",
            "Invalid",
        ),
    ],
)
def test_invalid_autoscaler_metrics_are_rejected(metric: Manifest, field: str, kind: str) -> None:
    assert _said(_autoscaler(metric)) == [("rejected", f"spec.metrics[0].{field}", kind)]


def test_invalid_autoscaler_replicas_are_rejected() -> None:
    assert _said(_autoscaler(POD_METRIC)) == []
    assert _said(_autoscaler(POD_METRIC, maxReplicas=0)) == [
        ("rejected", "spec.maxReplicas", "Required"),
        ("rejected", "spec.maxReplicas", "Invalid"),
    ]
    assert _said(_autoscaler(POD_METRIC, minReplicas=0)) == [
        ("rejected", "spec.minReplicas", "Invalid"),
        ("rejected", "spec.metrics", "Forbidden"),
    ]


@pytest.mark.parametrize(
    ("name", "args", "field"),
    [
        ("NodeResourcesFit", {"scoringStrategy": {"type": "Packed"}}, "scoringStrategy.type"),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}},
            "scoringStrategy.resources[0].weight",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            "scoringStrategy.requestedToCapacityRatio",
        ),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 2}]}, "resources[0].weight"),
        (
            "PodTopologySpread",
            {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Never"}]},
            "defaultConstraints[0].whenUnsatisfiable",
        ),
        ("InterPodAffinity", {"hardPodAffinityWeight": 101}, "hardPodAffinityWeight"),
    ],
)
def test_invalid_plugin_arguments_are_reported(name: str, args: Manifest, field: str) -> None:
    assert [v.field for v in _verdicts(_configured(name, args))] == [f"profiles[0].pluginConfig[0].args.{field}"]


def test_invalid_scheduler_profiles_are_rejected() -> None:
    assert _said(_scheduler({})) == []
    assert _said(_scheduler({"schedulerName": "a"}, {"schedulerName": "a"})) == [
        ("rejected", "profiles[1].schedulerName", "Duplicate")
    ]
    assert _said(_scheduler({"schedulerName": "a"}, {})) == [("rejected", "profiles[1].schedulerName", "Required")]
    assert _said(_configured("GPUAffinity", {})) == [("ignored", "profiles[0].pluginConfig[0]", "Unused")]
    older = {**_scheduler({}), "apiVersion": "kubescheduler.config.k8s.io/v1beta3"}
    assert _said(older) == [("rejected", "apiVersion", "Invalid")]


def test_job_parallelism_above_completions_is_reported() -> None:
    spec = {"parallelism": 2, "completions": 1}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    assert _said(job) == [("ignored", "spec.parallelism", "MoreThanCompletions")]
    cron = {**job, "kind": "CronJob", "spec": {"jobTemplate": {"spec": spec}}}
    assert _said(cron) == [("ignored", "spec.jobTemplate.spec.parallelism", "MoreThanCompletions")]
    assert _said({**job, "spec": {"parallelism": 2}}, {**cron, "spec": {}}) == []


def test_other_kinds_are_ignored() -> None:
    assert _said({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, {}) == []
