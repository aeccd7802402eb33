"""Values of YuniKorn's Helm chart that the emitted objects require, and the value for KubeRay.

Source: apache/yunikorn-release helm-charts/yunikorn/values.yaml at 2387b431; k8shim 23b6b47f,
pkg/admission/conf/am_conf.go; KubeRay helm-chart/kuberay-operator/values.yaml.
"""

from __future__ import annotations

from apportion_api.yunikorn.names import CONFIG_MAP, PROCESS_NAMESPACES_KEY, SCHEDULER, SYSTEM_NAMESPACE
from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.yaml_documents import yaml_document
from apportion_compiler.engines.yunikorn.emit.config_map import NO_NAMESPACE
from apportion_compiler.ir.program import Program

VALUES_FILE = "values.yaml"
KUBERAY_VALUES_FILE = "kuberay-values.yaml"


def artifacts(program: Program) -> tuple[Artifact, ...]:
    """Return the files that accompany the objects."""
    return _chart_values(program), _kuberay_values(program)


def _chart_values(program: Program) -> Artifact:
    """Return the values for `helm upgrade yunikorn … -f values.yaml`."""
    values: dict[str, object] = {
        # It identifies the user of a pod, without which user limits have no effect, and rejects an invalid ConfigMap.
        "embedAdmissionController": True,
        # Otherwise it passes the pods of every namespace to YuniKorn, which has no queue for them.
        "yunikornDefaults": {PROCESS_NAMESPACES_KEY: NO_NAMESPACE},
    }
    notes = [
        "Values that this cluster's policy requires in YuniKorn's Helm chart; merge them into your own values.",
        (
            f"Install the chart in namespace {SYSTEM_NAMESPACE}: YuniKorn reads ConfigMap {CONFIG_MAP} only in its own "
            "namespace."
        ),
        "Remove queues.yaml from yunikornDefaults: the ConfigMap in this tree takes precedence.",
    ]
    return Artifact(VALUES_FILE, yaml_document(notes, values))


def _kuberay_values(program: Program) -> Artifact:
    notes = [
        "Value for KubeRay's Helm chart. A KubeRay operator supports only one batch scheduler.",
        "KubeRay copies the labels yunikorn.apache.org/queue and yunikorn.apache.org/app-id from its resources to their pods.",
    ]
    return Artifact(KUBERAY_VALUES_FILE, yaml_document(notes, {"batchScheduler": {"name": SCHEDULER}}))
