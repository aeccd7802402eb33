"""Handwritten workloads and their verdicts: the intended fault, and no other."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.engines.registry import ENGINES, PLAIN_KUBERNETES, engine_parts

_POD = {"containers": [{"name": "main", "image": "train"}], "restartPolicy": "Never"}
_KAI_QUEUES = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: research}
spec: {resources: {}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec: {parentQueue: research, resources: {}}
"""
_RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: vision, labels: {%s}}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
  workerGroupSpecs:
  - {groupName: gpu, replicas: 1, minReplicas: 1, maxReplicas: %s, rayStartParams: {}, template: {spec: {containers: [{name: worker, image: ray}]}}}
"""
_KUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: vision, namespace: vision}
spec: {clusterQueue: vision}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec: {resourceGroups: [{coveredResources: [cpu, nvidia.com/gpu], flavors: []}]}
"""
_VOLCANO = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: research}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: vision}
spec: {parent: research}
"""
_TREE = """
apiVersion: scheduling.sigs.k8s.io/v1beta1
kind: ElasticQuotaTree
metadata: {name: elasticquotatree, namespace: kube-system}
spec: {root: {name: root, children: [{name: research, children: [{name: vision, namespaces: [vision]}]}]}}
"""
_QUOTAS = """
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: research, namespace: koordinator-system, labels: {quota.scheduling.koordinator.sh/is-parent: "true"}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: vision, namespace: koordinator-system}
"""
_YUNIKORN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: yunikorn-configs, namespace: yunikorn}
data:
  queues.yaml: |
    partitions:
    - name: default
      queues:
      - name: root
        queues: [{name: research, queues: [{name: vision}]}]
"""


def _job(*, labels: str = "", annotations: str = "", pod: str = "", **spec: Any) -> str:
    """Return a Job; labels and annotations of the Job, and of its pods, whose metadata is `pod`."""
    template: dict[str, Any] = {"spec": {**_POD, **spec.pop("pod_spec", {})}}
    if pod:
        template["metadata"] = yaml.safe_load(f"{{{pod}}}")
    metadata: dict[str, Any] = {"name": "train", "namespace": spec.pop("namespace", "vision")}
    if labels:
        metadata["labels"] = yaml.safe_load(f"{{{labels}}}")
    if annotations:
        metadata["annotations"] = yaml.safe_load(f"{{{annotations}}}")
    return yaml.safe_dump(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {**spec, "template": template}}
    )


def _resources(**resources: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "train", "resources": resources}]}


def _ray_job(**spec: Any) -> str:
    cluster = yaml.safe_load(_RAY % ("", 1))["spec"]
    return yaml.safe_dump(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "metadata": {"name": "tune", "namespace": "vision", "labels": spec.pop("labels", {})},
            "spec": {"rayClusterSpec": cluster, **spec},
        }
    )


def _said(engine: str, *documents: str) -> list[tuple[str, str, str]]:
    manifests = [m for document in documents for m in yaml.safe_load_all(document)]
    return [(v.effect.value, v.field, v.message) for v in workload_verdicts(engine, manifests)]


_IN_KAI = {"labels": "kai.scheduler/queue: vision", "pod_spec": {"schedulerName": "kai-scheduler"}}
_NO_DEVICE = {"schedulerName": "kai-scheduler", **_resources(requests={"cpu": 1})}
CASES = [
    ("kai", (_KAI_QUEUES, _job(**_IN_KAI)), None),
    ("kai", (_RAY % ("kai.scheduler/queue: vision", 1),), None),
    ("kai", (_RAY % ("", 1),), ("pending", "metadata.labels[kai.scheduler/queue]", "Queue label missing from RayCluster; pods will remain pending")),
    ("kai", (_KAI_QUEUES, _job(labels="kai.scheduler/queue: visoin", pod_spec={"schedulerName": "kai-scheduler"})), ("pending", "metadata.labels[kai.scheduler/queue]", "queue visoin does not exist")),
    ("kai", (_KAI_QUEUES, _job(labels="kai.scheduler/queue: research", pod_spec={"schedulerName": "kai-scheduler"})), ("pending", "metadata.labels[kai.scheduler/queue]", "queue research has child queues")),
    ("kai", (_job(labels="kai.scheduler/queue: vision"),), ("ignored", "spec.template.spec.schedulerName", "Kubernetes' default scheduler")),
    ("kai", (_ray_job(labels={"kai.scheduler/queue": "vision"}),), ("pending", "spec.submissionMode", "does not support RayJob with K8sJobMode, which is the default")),
    ("kai", (_ray_job(labels={"kai.scheduler/queue": "vision"}, submissionMode="K8sJobMode"),), ("pending", "spec.submissionMode", "does not support RayJob with K8sJobMode:")),
    ("kai", (_ray_job(labels={"kai.scheduler/queue": "vision"}, submissionMode="HTTPMode"),), None),
    ("kai", (_job(labels="kai.scheduler/queue: vision", pod='annotations: {gpu-fraction: "0.5"}', pod_spec=_NO_DEVICE),), None),
    ("kai", (_job(labels="kai.scheduler/queue: vision", pod='annotations: {gpu-fraction: "1"}', pod_spec=_NO_DEVICE),), ("pending", "spec.template.metadata.annotations[gpu-fraction]", "gpu-fraction annotation value must be a positive number smaller than 1.0")),
    ("kai", (_job(labels="kai.scheduler/queue: vision", pod='annotations: {gpu-fraction: half}', pod_spec=_NO_DEVICE),), ("pending", "spec.template.metadata.annotations[gpu-fraction]", "smaller than 1.0, not half")),
    ("kai", (_job(labels="kai.scheduler/queue: vision", pod='annotations: {gpu-fraction: "0.5"}', pod_spec={"schedulerName": "kai-scheduler", **_resources(limits={"nvidia.com/gpu": 1})}),), ("pending", "spec.template.metadata.annotations[gpu-fraction]", "cannot have both GPU fraction request and whole GPU")),
    ("kai", (_job(labels="kai.scheduler/queue: vision", pod='annotations: {mps: "true"}', pod_spec={"schedulerName": "kai-scheduler", **_resources(limits={"nvidia.com/gpu": 1})}),), ("pending", "spec.template.metadata.annotations[mps]", "MPS is only supported with GPU fraction request")),
    ("kai", (_job(labels="kai.scheduler/queue: vision", pod='annotations: {mps: "true", gpu-fraction: "0.5"}', pod_spec=_NO_DEVICE),), None),
    ("kai", (_job(suspend=True, **_IN_KAI),), ("pending", "spec.suspend", "no component on the cluster resumes it")),
    ("kai", (_RAY % ("kai.scheduler/queue: vision", 2),), ("ignored", "spec.workerGroupSpecs[0].maxReplicas", "the group stays at replicas: 1")),
    ("native", (_job(suspend=True, labels="kueue.x-k8s.io/queue-name: vision"),), None),
    ("native", (_TREE, _job(suspend=True)), None),
    ("kueue", (_job(**_IN_KAI),), None),
    ("kai", (_RAY % ("kueue.x-k8s.io/queue-name: vision", 1),), None),
    ("native", (_job(pod_spec=_resources(requests={"nvidia.com/gpu": 1})),), ("rejected", "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]", "Limit must be set for non overcommitable resources")),
    ("native", ((_RAY % ("", 1)).replace("name: worker, image: ray", "name: worker, image: ray, resources: {requests: {nvidia.com/gpu: 1}}"),), ("pending", "spec.workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpu]", "Limit must be set")),
    ("native", (_job(pod_spec=_resources(limits={"nvidia.com/gpu": "0.5"})),), ("rejected", "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]", "must be an integer")),
    ("native", (_job(pod_spec=_resources(requests={"nvidia.com/gpu": 1}, limits={"nvidia.com/gpu": 2})),), ("rejected", "spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]", "must be equal to nvidia.com/gpu limit of 2")),
    ("native", (_job(pod_spec=_resources(requests={"nvidia.com/gpu": "1k"}, limits={"nvidia.com/gpu": 1000})),), None),
    ("native", ("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1}", _job(pod_spec={"priorityClassName": "hihg"})), ("pending", "spec.template.spec.priorityClassName", "no PriorityClass with name hihg was found")),
    ("native", (_job(pod_spec={"priorityClassName": "hihg"}),), None),
    ("native", ((_RAY % ("", 1)).replace("name: ray,", f"name: {'r' * 54},"),), ("pending", "metadata.name", "no more than 53 characters, but has 54")),
    ("kueue", (_KUEUE, _job(labels="kueue.x-k8s.io/queue-name: vision", pod_spec=_resources(limits={"cpu": 1, "nvidia.com/gpu": 1}))), None),
    ("kueue", (_KUEUE, _job(labels="kueue.x-k8s.io/queue-name: visoin")), ("pending", "metadata.labels[kueue.x-k8s.io/queue-name]", "LocalQueue visoin does not exist in namespace vision")),
    ("kueue", (_KUEUE, _job(labels="kueue.x-k8s.io/queue-name: vision", namespace="speech")), ("pending", "metadata.labels[kueue.x-k8s.io/queue-name]", "LocalQueue vision does not exist in namespace speech")),
    ("kueue", (_job(suspend=True),), ("pending", "metadata.labels[kueue.x-k8s.io/queue-name]", "suspended and has no queue label")),
    ("kueue", (_job(),), ("ignored", "metadata.labels[kueue.x-k8s.io/queue-name]", "bypasses Kueue and all quotas")),
    ("kueue", (_KUEUE.replace("name: vision, namespace", "name: default, namespace"), _job()), None),
    ("kueue", (_KUEUE, _job(labels="kueue.x-k8s.io/queue-name: vision", pod_spec=_resources(requests={"memory": "1Gi"}))), ("pending", "spec.template.spec.containers[0].resources.requests[memory]", "no resource group in ClusterQueue vision covers memory")),
    ("kueue", (_ray_job(labels={"kueue.x-k8s.io/queue-name": "vision"}),), ("rejected", "spec.shutdownAfterJobFinishes", "should delete the cluster after finishing")),
    ("kueue", (_ray_job(labels={"kueue.x-k8s.io/queue-name": "vision"}, shutdownAfterJobFinishes=True),), None),
    ("kueue", (_ray_job(labels={"kueue.x-k8s.io/queue-name": "vision"}, clusterSelector={"a": "b"}),), ("rejected", "spec.clusterSelector", "should not use an existing cluster")),
    ("kueue", ((_RAY % ("kueue.x-k8s.io/queue-name: vision", 1)).replace("spec:\n", "spec:\n  enableInTreeAutoscaling: true\n", 1),), ("rejected", "spec.enableInTreeAutoscaling", "should not use autoscaling")),
    ("volcano", (_VOLCANO, _job(pod="annotations: {scheduling.volcano.sh/queue-name: vision}", pod_spec={"schedulerName": "volcano"})), None),
    ("volcano", (_VOLCANO, _job(pod="annotations: {scheduling.volcano.sh/queue-name: visoin}", pod_spec={"schedulerName": "volcano"})), ("pending", "spec.template.metadata.annotations[scheduling.volcano.sh/queue-name]", "unable to find job queue: visoin")),
    ("volcano", (_VOLCANO, _job(pod="annotations: {scheduling.volcano.sh/queue-name: vision}")), ("ignored", "spec.template.spec.schedulerName", "bypass the queue")),
    ("volcano", (_VOLCANO, "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: a}, spec: {queue: research, tasks: [{replicas: 1, template: {spec: {}}}]}}"), ("rejected", "spec.queue", "can only submit job to leaf queue")),
    ("volcano", ("{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: a}, spec: {minAvailable: 3, tasks: [{replicas: 2, template: {spec: {}}}]}}",), ("rejected", "spec.minAvailable", "should not be greater than total replicas in tasks: 2")),
    ("volcano", ("{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g, namespace: vision}, spec: {minMember: 3}}", _job(parallelism=2, completions=2, pod="annotations: {scheduling.k8s.io/group-name: g}", pod_spec={"schedulerName": "volcano"})), ("pending", "spec.minMember", "the pod group waits for 3 pods, but has only 2")),
    ("ack", (_TREE, _job(suspend=True)), None),
    ("ack", (_TREE, _job()), ("ignored", "spec.suspend", "kube-queue never queues it")),
    ("ack", (_TREE, _job(suspend=True, namespace="speech")), ("pending", "metadata.namespace", "namespace speech doesn't belong to any elastic quota")),
    ("ack", (_TREE, _job(suspend=True, labels="quota.scheduling.alibabacloud.com/name: research")), ("pending", "metadata.labels[quota.scheduling.alibabacloud.com/name]", "the tree has no leaf named research")),
    ("ack", ("{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a}, spec: {suspend: true, replicatedJobs: []}}",), ("pending", "spec.suspend", "kube-queue does not support JobSet")),
    ("ack", ("{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: a}, spec: {tfReplicaSpecs: {}}}",), ("ignored", "metadata.annotations[scheduling.x-k8s.io/suspend]", "kube-queue never queues the workload")),
    ("ack", (_ray_job(suspend=True),), ("pending", "spec.shutdownAfterJobFinishes", "not allowed to be suspended")),
    ("koordinator", (_QUOTAS, _job(pod="labels: {quota.scheduling.koordinator.sh/name: vision}", pod_spec={"schedulerName": "koord-scheduler"})), None),
    ("koordinator", (_QUOTAS, _job(labels="quota.scheduling.koordinator.sh/name: vision")), ("ignored", "metadata.labels[quota.scheduling.koordinator.sh/name]", "reads this label only from pods")),
    ("koordinator", (_QUOTAS, _job(pod="labels: {quota.scheduling.koordinator.sh/name: research}", pod_spec={"schedulerName": "koord-scheduler"})), ("rejected", "spec.template.metadata.labels[quota.scheduling.koordinator.sh/name]", "pods cannot use parent quotas")),
    ("koordinator", (_QUOTAS, _job(pod="labels: {quota.scheduling.koordinator.sh/name: visoin}", pod_spec={"schedulerName": "koord-scheduler"})), ("ignored", "spec.template.metadata.labels[quota.scheduling.koordinator.sh/name]", "quota visoin does not exist")),
    ("koordinator", (_job(pod='labels: {quota.scheduling.koordinator.sh/name: vision}, annotations: {gang.scheduling.koordinator.sh/min-available: "2"}', pod_spec={"schedulerName": "koord-scheduler"}),), ("pending", "spec.template.metadata.annotations[gang.scheduling.koordinator.sh/min-available]", "the gang waits for 2 pods, but the Job creates 1")),
    ("koordinator", (_job(pod="labels: {quota.scheduling.koordinator.sh/name: vision}"),), ("ignored", "spec.template.spec.schedulerName", "ignores the quota")),
    ("yunikorn", (_YUNIKORN, _job(pod="labels: {queue: root.research.vision}")), None),
    ("yunikorn", (_YUNIKORN, _job(pod="labels: {queue: root.research.visoin}")), ("pending", "spec.template.metadata.labels[yunikorn.apache.org/queue]", "queue root.research.visoin does not exist")),
    ("yunikorn", (_YUNIKORN, _job(pod="labels: {yunikorn.apache.org/queue: root.research}")), ("pending", "spec.template.metadata.labels[yunikorn.apache.org/queue]", "queue root.research is not a leaf")),
    ("yunikorn", (_job(pod='annotations: {yunikorn.apache.org/task-group-name: w, yunikorn.apache.org/task-groups: \'[{"name": "w", "minMember": 2}]\'}'),), ("pending", "spec.template.metadata.annotations[yunikorn.apache.org/task-groups]", "task group w waits for 2 pods, but has only 1")),
    ("yunikorn", (_job(pod="annotations: {yunikorn.apache.org/task-group-name: w, yunikorn.apache.org/task-groups: nonsense}"),), ("ignored", "spec.template.metadata.annotations[yunikorn.apache.org/task-groups]", "not valid JSON")),
]  # fmt: skip

_REQUEST = """
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: r, namespace: vision}
spec:
  provisioningClassName: queued-provisioning.gke.io
  podSets: [{count: 2, podTemplateRef: {name: t}}]
"""
_TEMPLATE = """
apiVersion: v1
kind: PodTemplate
metadata: {name: t, namespace: vision}
template: {spec: {containers: [{name: main, image: pi, resources: {limits: {nvidia.com/gpu: 1}}}]}}
"""
_CONSUMES = (
    "annotations: {autoscaling.x-k8s.io/consume-provisioning-request: r, "
    "autoscaling.x-k8s.io/provisioning-class-name: queued-provisioning.gke.io}"
)
_GPU_POD = _resources(limits={"nvidia.com/gpu": 1})
_APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}
_CONFIGURATION = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: c}
spec: {provisioningClassName: queued-provisioning.gke.io, parameters: {maxRunDurationSeconds: "600"}}
"""


def _lasting(seconds: str) -> str:
    """Return a Job that sets the lifetime of its nodes for Kueue."""
    return _job(annotations=f'provreq.kueue.x-k8s.io/maxRunDurationSeconds: "{seconds}"')


PROVISIONING = [
    ((_TEMPLATE, _REQUEST, _job(pod=_CONSUMES, pod_spec=_GPU_POD)), None),
    ((_REQUEST.replace("{name: t}}]", "{name: t}}, {count: 1, podTemplateRef: {name: u}}]"),), ("pending", "spec.podSets", "supports only one pod set, but the request has 2")),
    ((_TEMPLATE.replace("name: t,", "name: other,"), _REQUEST), ("pending", "spec.podSets[0].podTemplateRef.name", "PodTemplate t does not exist in namespace vision")),
    ((_TEMPLATE.replace("limits: {nvidia.com/gpu: 1}", "limits: {cpu: 1}"), _REQUEST), ("pending", "spec.podSets[0].podTemplateRef.name", "provides only GPU nodes")),
    ((_job(pod=_CONSUMES),), ("pending", "spec.template.spec", "provides only GPU nodes")),
    ((_job(pod=_CONSUMES, pod_spec={**_GPU_POD, "affinity": _APART}),), ("ignored", "spec.template.spec.affinity", "ignores podAntiAffinity")),
    ((_TEMPLATE, _REQUEST.replace("  podSets", '  parameters: {maxRunDurationSeconds: "604801"}\n  podSets')), ("pending", "spec.parameters.maxRunDurationSeconds", "604801 is not a number of seconds between 1 and 604800")),
    ((_TEMPLATE, _REQUEST.replace("  podSets", "  parameters: {maxRunDurationSeconds: 600}\n  podSets")), ("rejected", "spec.parameters.maxRunDurationSeconds", "must be of type string")),
    ((_TEMPLATE, _REQUEST.replace("  podSets", f'  parameters: {{maxRunDurationSeconds: "{"9" * 5000}"}}\n  podSets')), ("pending", "spec.parameters.maxRunDurationSeconds", "is not a number of seconds")),
    ((_TEMPLATE, _REQUEST.replace("  podSets", '  parameters: {maxRunDurationSeconds: "0"}\n  podSets')), ("pending", "spec.parameters.maxRunDurationSeconds", "is not a number of seconds")),
    ((_CONFIGURATION, _lasting("3600")), None),
    ((_CONFIGURATION.replace('"600"', '"604801"'),), ("pending", "spec.parameters.maxRunDurationSeconds", "604801 is not a number of seconds")),
    ((_CONFIGURATION, _lasting("1h")), ("pending", "metadata.annotations[provreq.kueue.x-k8s.io/maxRunDurationSeconds]", "1h is not a number of seconds")),
    ((_CONFIGURATION.replace("queued-provisioning.gke.io", "own.example.com"), _lasting("1h")), None),
    ((_TEMPLATE, _REQUEST.replace("x-k8s.io/v1", "x-k8s.io/v1beta1")), ("deprecated", "apiVersion", "v1beta1 is still served")),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "documents", "expected"), CASES)
def test_workload_verdicts(engine: str, documents: tuple[str, ...], expected: tuple[str, str, str] | None) -> None:
    _compare(_said(engine, *documents), expected)


@pytest.mark.parametrize(("documents", "expected"), PROVISIONING)
def test_provisioning_request_verdicts(documents: tuple[str, ...], expected: tuple[str, str, str] | None) -> None:
    _compare(_said("native", *documents), expected)


def _compare(said: list[tuple[str, str, str]], expected: tuple[str, str, str] | None) -> None:
    if expected is None:
        assert said == []
        return
    effect, field, message = expected
    assert [(e, f) for e, f, _ in said] == [(effect, field)]
    assert message in said[0][2]


def test_every_rule_has_a_case() -> None:
    shown = {engine for engine, _, expected in CASES if expected is not None}
    assert shown >= {PLAIN_KUBERNETES, *engine_parts("rules.pending", "RULES")}
    effects = {expected[0] for _, _, expected in CASES if expected} | {e[0] for _, e in PROVISIONING if e}
    # Whether admission policies only warn depends on a cluster's bindings, which are tested separately.
    assert effects == {effect.value for effect in Effect} - {"warned"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "spec",
    [None, [], "text", 7, {"template": []}, {"template": {"spec": {"containers": [None, 3, {"resources": "a"}]}}}],
)
@pytest.mark.parametrize("kind", ["batch/v1 Job", "batch/v1 CronJob", "ray.io/v1 RayJob", "kubeflow.org/v1 TFJob"])
def test_malformed_objects_are_skipped(engine: str, spec: object, kind: str) -> None:
    version, name = kind.split()
    list(workload_verdicts(engine, [{"apiVersion": version, "kind": name, "metadata": {"name": "a"}, "spec": spec}]))


def test_controlled_pods_are_checked_with_their_owner() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "ownerReferences": [{"kind": "Job"}], "labels": {"kai.scheduler/queue": "b"}},
        "spec": _POD,
    }
    assert list(workload_verdicts("kai", [pod])) == []


def test_existing_objects_are_considered() -> None:
    queues = list(yaml.safe_load_all(_KAI_QUEUES))
    job = yaml.safe_load(_job(**_IN_KAI))
    assert list(workload_verdicts("kai", [job], queues)) == []
    (unknown,) = workload_verdicts("kai", [job], queues[:1])
    assert unknown.message.startswith("queue vision does not exist")
