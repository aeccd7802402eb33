"""Queued provisioning: one template that represents all pods, one request, and pods that reference it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from apportion_compiler.bindings.bind import adopt, bind
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.ir.program import Program
from apportion_compiler.workload_shapes import found, pod_sets

from ..conformance.schemas import errors
from .programs import H100, ORDINARY, PLAN, QUEUED, program

_ASKED = Options(provisioning="dws", workers=4, gpus=8000)
_CONSUMES = {
    "autoscaling.x-k8s.io/consume-provisioning-request": "vision-job",
    "autoscaling.x-k8s.io/provisioning-class-name": "queued-provisioning.gke.io",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}


def _site(engine: str = "native", **plan: Any) -> Program:
    return program(engine, pools=(H100, QUEUED, ORDINARY), plan=PLAN.model_copy(update=plan))


def test_objects_are_ordered() -> None:
    template, request, job = bind(_site(), "vision", "Job", _ASKED)
    assert (template["apiVersion"], template["kind"]) == ("v1", "PodTemplate")
    assert (request["apiVersion"], request["kind"]) == ("autoscaling.x-k8s.io/v1", "ProvisioningRequest")
    assert request["spec"] == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "parameters": {"maxRunDurationSeconds": "86400"},
        "podSets": [{"count": 4, "podTemplateRef": {"name": "vision-job"}}],
    }
    assert found(template, "metadata") == found(request, "metadata") == {"name": "vision-job", "namespace": "vision"}
    assert found(pod_sets(job)[0].template, "metadata", "annotations") == _CONSUMES
    assert found(pod_sets(job)[0].spec, "nodeSelector") == {"apportion.dev/node-pool": "queued-h100"}
    assert found(template, "template", "spec", "nodeSelector") == {"apportion.dev/node-pool": "queued-h100"}
    assert [fault for made in (template, request, job) for fault in errors(made)] == []
    assert list(workload_verdicts("native", (template, request, job))) == []


def test_largest_request_of_templates_is_used() -> None:
    ray = yaml.safe_load(
        """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: mixed}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
        - {name: head, image: a, resources: {requests: {cpu: "2", memory: 30Gi}}}
        - {name: sidecar, image: b, resources: {requests: {cpu: 500m, memory: 6Gi}}}
  workerGroupSpecs:
  - groupName: small
    replicas: 3
    rayStartParams: {}
    template:
      spec:
        containers: [{name: worker, image: c, resources: {limits: {cpu: "1", memory: 8Gi, nvidia.com/gpu: 1}}}]
  - groupName: large
    replicas: 2
    numOfHosts: 2
    rayStartParams: {}
    template:
      spec:
        containers: [{name: worker, image: d, resources: {limits: {cpu: "2", memory: 16Gi, nvidia.com/gpu: 4}}}]
"""
    )
    template, request, _ = adopt(_site(), "vision", [ray], Options(provisioning="dws")).objects
    (container,) = found(template, "template", "spec", "containers")
    amounts = {"cpu": "2500m", "memory": "36Gi", "nvidia.com/gpu": "4"}
    assert container == {"name": "worker", "image": "d", "resources": {"requests": amounts, "limits": amounts}}
    (pod_set,) = found(request, "spec", "podSets")
    assert pod_set["count"] == 1 + 3 + 2 * 2


def test_kueue_creates_the_request() -> None:
    (job,) = bind(_site("kueue"), "vision", "Job", _ASKED)
    annotations = found(job, "metadata", "annotations")
    assert annotations == {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "86400"}


def test_parameters_of_other_provisioning_classes() -> None:
    class_ = "check-capacity.autoscaling.x-k8s.io"
    site = _site(provisioning_class=class_, max_run_duration=None, parameters={"noRetry": "true"})
    _, request, _ = bind(site, "vision", "Job", Options(provisioning="dws", gpus=8000))
    assert found(request, "spec", "parameters") == {"noRetry": "true"}


@pytest.mark.parametrize(
    ("plan", "options", "says"),
    [
        ({}, Options(provisioning="dws", gpus=0), "queued provisioning provides only GPU nodes"),
        (
            {},
            Options(provisioning="dws", gpus=16000),
            "the pods do not fit on any machine that plan dws provides: a machine in pool queued-h100",
        ),
        (
            {"max_nodes_per_request": 3},
            _ASKED,
            "4 pods need 4 nodes, but a single request under plan dws provides at most 3",
        ),
        ({}, Options(provisioning="dws", gpus=8000, workers=1001), "1,001 pods need 1,001 nodes"),
        ({"max_run_duration": "8d"}, _ASKED, r"the maximum is seven days \(604800 s\)"),
        (
            {},
            Options(provisioning="dsw"),
            "no node pool in the cluster uses provisioning plan dsw; did you mean dws?",
        ),
    ],
)
def test_unsupported_provisioning_options_are_refused(plan: dict[str, Any], options: Options, says: str) -> None:
    with pytest.raises(BindingError, match=says):
        bind(_site(**plan), "vision", "Job", options)


def test_cron_job_with_provisioning_is_refused() -> None:
    with pytest.raises(BindingError, match="a ProvisioningRequest provides nodes for one run"):
        bind(_site(), "vision", "CronJob", _ASKED)


def test_small_pods_share_a_node() -> None:
    asked = Options(provisioning="dws", gpus=1000, workers=24)
    _, request, _ = bind(_site(max_nodes_per_request=3), "vision", "Job", asked)
    assert found(request, "spec", "podSets") == [{"count": 24, "podTemplateRef": {"name": "vision-job"}}]


def test_anti_affinity_with_provisioning_is_warned_about() -> None:
    (job,) = bind(program("native"), "vision", "Job", Options())
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
    pod_sets(job)[0].spec["affinity"] = {"podAntiAffinity": rule}
    made = adopt(_site(), "vision", [job], Options(provisioning="dws"))
    assert any("ignores podAntiAffinity" in note for note in made.notes)
    assert made.remarks == ()
