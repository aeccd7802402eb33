"""The configuration of Kueue's manager that the emitted objects require, and that of kube-scheduler.

Source: apis/config/v1beta2/configuration_types.go, pkg/config/validation.go. The manager waits for a framework whose
CRD is not installed; it does not start with one that its version does not support.
"""

from __future__ import annotations

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kueue.names import CONFIG_API, CONFIGURATION_GROUP
from apportion_compiler.backends.admission.namespace_metadata import QUEUE_LABEL
from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.yaml_documents import yaml_document
from apportion_compiler.engine_versions import parse_version
from apportion_compiler.engines.kueue.emit.flavor_quotas import counted_resources, counts_total
from apportion_compiler.engines.kueue.emit.flavors import Layout
from apportion_compiler.engines.kueue.names import SCHEDULER, TOTAL_GPUS
from apportion_compiler.ir.program import Program
from apportion_policy.duration import duration_text, parse_duration

CONFIGURATION_FILE = "controller_manager_config.yaml"
SCHEDULER_FILE = "kube-scheduler.yaml"

_FRAMEWORKS = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "pod",
    "deployment",
    "statefulset",
)
_SINCE = {"ray.io/rayservice": (0, 17)}
_CONFIG_V1BETA2_SINCE = (0, 15)
_UNCOUNTED = ("ephemeral-storage", "hugepages-")
_SCORING = {"binpack": "MostAllocated", "spread": "LeastAllocated"}
_GPU_WEIGHT = 100
"""The maximum weight of a resource, so that free CPU does not outweigh free GPUs in the score."""


def manager_configuration(program: Program, layout: Layout) -> Artifact:
    """Return the part of the manager's configuration that the policy determines."""
    version = parse_version(program.engine_version) or _CONFIG_V1BETA2_SINCE
    is_v1beta1 = version < _CONFIG_V1BETA2_SINCE
    strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    configuration: dict[str, object] = {
        "apiVersion": f"{CONFIGURATION_GROUP}/v1beta1" if is_v1beta1 else CONFIG_API,
        "kind": "Configuration",
        # Workloads without a queue in the policy's namespaces stay suspended instead of bypassing quotas.
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {"matchExpressions": [{"key": QUEUE_LABEL, "operator": "Exists"}]},
        "integrations": {"frameworks": [f for f in _FRAMEWORKS if _SINCE.get(f, (0, 0)) <= version]},
        "fairSharing": {**({"enable": True} if is_v1beta1 else {}), "preemptionStrategies": strategies},
        "resources": _resources(program, layout),
    }
    if program.kueue.wait_for_pods_ready is not None:
        timeout = duration_text(parse_duration(str(program.kueue.wait_for_pods_ready)))
        configuration["waitForPodsReady"] = {
            **({"enable": True} if is_v1beta1 else {}),
            "timeout": timeout,
            "blockAdmission": False,
        }
    notes = (
        "Kueue manager configuration required by this cluster's policy; merge it into your own configuration.",
        "Set it as controller_manager_config.yaml in the ConfigMap kueue-manager-config in kueue-system, or as the",
        "Helm value managerConfig.controllerManagerConfigYaml. Without fairSharing, weights are ignored.",
    )
    return Artifact(CONFIGURATION_FILE, yaml_document(notes, configuration))


def scheduler_configuration(program: Program) -> Artifact:
    """Return the profile with which kube-scheduler places admitted pods."""
    resources = [{"name": GPU_RESOURCE, "weight": _GPU_WEIGHT}, *({"name": r, "weight": 1} for r in ("cpu", "memory"))]
    strategy = {"type": _SCORING[program.gpu_placement], "resources": resources}
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": SCHEDULER, "pluginConfig": [fit]}],
    }
    return Artifact(
        SCHEDULER_FILE,
        yaml_document(
            ("Configuration for kube-scheduler's --config flag, on a control plane that you manage.",), configuration
        ),
    )


def _resources(program: Program, layout: Layout) -> dict[str, object]:
    counted = counted_resources(program)
    # A requested resource without a quota makes a workload inadmissible.
    excluded = [prefix for prefix in _UNCOUNTED if not any(resource.startswith(prefix) for resource in counted)]
    found: dict[str, object] = {"excludeResourcePrefixes": excluded} if excluded else {}
    if counts_total(program, layout):
        found["transformations"] = [{"input": GPU_RESOURCE, "strategy": "Retain", "outputs": {TOTAL_GPUS: "1"}}]
    return found
