"""Existing manifests: bound to a queue, with everything else unchanged."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_compiler.bindings import ENGINES
from apportion_compiler.bindings.bind import adopt, bind
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.engine_rules.workloads import workload_verdicts

from ..conformance.schemas import errors
from .programs import program

_JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {app: train, kueue.x-k8s.io/queue-name: somewhere-else}
  annotations: {note: keep me}
spec:
  backoffLimit: 3
  parallelism: 4
  completions: 8
  template:
    metadata:
      labels: {app: train}
    spec:
      schedulerName: some-scheduler
      priorityClassName: build-preemptible
      nodeSelector: {disk: fast}
      initContainers:
      - {name: fetch, image: fetch, resources: {requests: {memory: 8Gi}}}
      containers:
      - name: main
        image: train
        resources: {limits: {nvidia.com/gpu: 2, cpu: "4", memory: 4Gi}}
      restartPolicy: Never
"""
_RAY_JOB = """
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: tune, namespace: vision-dev}
spec:
  entrypoint: python tune.py
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: head, image: "rayproject/ray:2.46.0"}]}}
    workerGroupSpecs:
    - groupName: gpu
      replicas: 2
      minReplicas: 2
      maxReplicas: 2
      rayStartParams: {}
      template:
        spec:
          containers:
          - {name: worker, image: "rayproject/ray:2.46.0", resources: {limits: {nvidia.com/gpu: 1}}}
"""


def _loaded(text: str) -> dict[str, Any]:
    return yaml.safe_load(text)


def _lost(before: Any, after: Any, path: str = "") -> list[str]:
    """Return the paths of values that exist before and not after."""
    if isinstance(before, dict):
        if not isinstance(after, dict):
            return [path]
        return [p for key in before for p in _lost(before[key], after.get(key), f"{path}.{key}")]
    if isinstance(before, list):
        if not isinstance(after, list) or len(after) != len(before):
            return [path]
        return [p for i, (b, a) in enumerate(zip(before, after, strict=True)) for p in _lost(b, a, f"{path}[{i}]")]
    return [] if before == after else [path]


@pytest.mark.parametrize("engine", ENGINES)
def test_bound_job_keeps_its_other_fields(engine: str) -> None:
    job = _loaded(_JOB)
    (made,) = adopt(program(engine), "vision", [job], Options()).objects
    owned = {".metadata.labels.kueue.x-k8s.io/queue-name"} if engine == "kueue" else set()
    assert set(_lost(job, made)) == owned | {".spec.template.spec.schedulerName"}
    assert job == _loaded(_JOB)
    assert errors(made) == []
    assert list(workload_verdicts(engine, [made])) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_ray_job_is_bound(engine: str) -> None:
    (made,) = adopt(program(engine), "vision", [_loaded(_RAY_JOB)], Options()).objects
    assert _lost(_loaded(_RAY_JOB), made) == []
    assert errors(made) == []
    assert list(workload_verdicts(engine, [made])) == []


def test_priority_class_of_a_manifest_is_kept() -> None:
    (made,) = adopt(program("kai"), "vision", [_loaded(_JOB)], Options()).objects
    assert made["metadata"]["labels"]["priorityClassName"] == "build-preemptible"


def test_binding_again_changes_nothing() -> None:
    for engine in ENGINES:
        for kind in ("Job", "RayJob", "RayService", "Deployment", "CronJob"):
            made = bind(program(engine), "vision", kind, Options())
            assert adopt(program(engine), "vision", made, Options()).objects == made, (engine, kind)


def test_other_objects_pass_through() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"a.py": "print(1)\n"}}
    objects = adopt(program("kai"), "vision", [config, _loaded(_JOB)], Options()).objects
    assert objects[0] == config
    assert objects[1]["kind"] == "Job"


def test_templates_sharing_a_yaml_anchor_are_separated() -> None:
    cluster = _loaded(_RAY_JOB)
    groups = cluster["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    groups.append({**groups[0], "groupName": "more"})
    (made,) = adopt(program("yunikorn"), "vision", [cluster], Options()).objects
    names = [
        group["template"]["metadata"]["annotations"]["yunikorn.apache.org/task-group-name"]
        for group in made["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    ]
    assert names == ["gpu", "more"]


@pytest.mark.parametrize(
    ("engine", "change", "options", "says"),
    [
        (
            "kai",
            {"metadata": {"name": "train", "namespace": "speech"}},
            Options(),
            "namespace speech does not belong to queue",
        ),
        (
            "kai",
            {"metadata": {"name": "train", "namespace": "vision"}},
            Options(namespace="vision-dev"),
            "Job train is in namespace vision, not vision-dev",
        ),
        ("kai", {"metadata": {}}, Options(), "the Job has no name"),
        ("kai", {"spec": {}}, Options(), "the Job has no pod template"),
        ("kai", {"spec": {"template": {"spec": {"nodeName": "n1"}}}}, Options(), "Job train sets nodeName"),
        ("kai", {"spec": {"template": {"spec": {"priorityClassName": "huge"}}}}, Options(), "priority class huge"),
    ],
)
def test_workloads_outside_the_queue_are_refused(
    engine: str, change: dict[str, Any], options: Options, says: str
) -> None:
    with pytest.raises(BindingError, match=says):
        adopt(program(engine), "vision", [{**_loaded(_JOB), **change}], options)


def _names_gangs(engine: str) -> bool:
    """Return whether the pods of a gang refer to it by the name of their workload."""
    job = _loaded(_JOB)
    job["metadata"]["name"] = "name-of-the-gang"
    (made,) = adopt(program(engine), "vision", [job], Options()).objects
    return "name-of-the-gang" in yaml.safe_dump(made["spec"]["template"])


def test_engines_that_name_gangs() -> None:
    assert {engine for engine in ENGINES if _names_gangs(engine)} >= {"ack", "koordinator", "yunikorn"}


@pytest.mark.parametrize("engine", ENGINES)
def test_generate_name_is_accepted_without_a_gang(engine: str) -> None:
    job = _loaded(_JOB)
    job["metadata"] = {"generateName": "train-"}
    if not _names_gangs(engine):
        (made,) = adopt(program(engine), "vision", [job], Options()).objects
        assert made["metadata"]["generateName"] == "train-"
        return
    with pytest.raises(BindingError, match="a gang needs a name"):
        adopt(program(engine), "vision", [job], Options())
    job["spec"] |= {"parallelism": 1}
    (made,) = adopt(program(engine), "vision", [job], Options()).objects
    assert list(workload_verdicts(engine, [made])) == []


def test_file_without_workload_is_refused() -> None:
    with pytest.raises(BindingError, match="the file contains no workload"):
        adopt(
            program("kai"), "vision", [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}], Options()
        )


def test_invalid_amount_is_refused() -> None:
    job = _loaded(_JOB)
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "lots"
    with pytest.raises(BindingError, match='request is invalid: "lots" is not a CPU quantity'):
        adopt(program("kai"), "vision", [job], Options())


@pytest.mark.parametrize(
    ("engine", "field", "value", "says"),
    [
        ("kai", "submissionMode", "K8sJobMode", "with KAI, KubeRay rejects K8sJobMode"),
        ("kueue", "clusterSelector", {"a": "b"}, "Kueue does not support a RayJob that uses an existing cluster"),
    ],
)
def test_unsupported_ray_job_is_refused(engine: str, field: str, value: object, says: str) -> None:
    job = _loaded(_RAY_JOB)
    job["spec"][field] = value
    with pytest.raises(BindingError, match=says):
        adopt(program(engine), "vision", [job], Options())


def test_kueue_refuses_autoscaled_ray_clusters() -> None:
    job = _loaded(_RAY_JOB)
    job["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] = True
    with pytest.raises(BindingError, match="remove enableInTreeAutoscaling"):
        adopt(program("kueue"), "vision", [job], Options())


def test_kueue_limits_the_number_of_pod_sets() -> None:
    job = _loaded(_RAY_JOB)
    group = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"] = [{**group, "groupName": f"g{n}"} for n in range(18)]
    with pytest.raises(BindingError, match="at most 18 pod sets, but this workload has 19"):
        adopt(program("kueue"), "vision", [job], Options())
