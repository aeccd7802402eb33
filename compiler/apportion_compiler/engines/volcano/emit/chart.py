"""Values of Volcano's Helm chart that the emitted objects require, and the value for KubeRay.

Source: installer/helm/chart/volcano/{values.yaml,templates/scheduler.yaml} at ed72c7c81; KubeRay
helm-chart/kuberay-operator/values.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from apportion_api.volcano.configuration import SCHEDULER_CONFIG_MAP
from apportion_api.volcano.names import SCHEDULER
from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.yaml_documents import Block, yaml_document
from apportion_compiler.engines.volcano.emit.scheduler import controller_configuration, scheduler_configuration
from apportion_compiler.engines.volcano.emit.topologies import topology_types
from apportion_compiler.ir.program import Program

VALUES_FILE = "values.yaml"
KUBERAY_VALUES_FILE = "kuberay-values.yaml"


def artifacts(program: Program) -> Iterator[Artifact]:
    """Yield the files that accompany the objects."""
    yield _chart_values(program)
    yield _kuberay_values(program)


def _chart_values(program: Program) -> Artifact:
    """Return the values for `helm upgrade volcano … -f values.yaml`."""
    custom: dict[str, object] = {"scheduler_config_override": Block(scheduler_configuration(program))}
    if topology_types(program):
        custom["controller_config_override"] = yaml.safe_load(controller_configuration(program))
    notes = [
        "Values for Volcano's Helm chart, required by this cluster's policy; merge them into your own values.",
        f"With these values, the chart writes {SCHEDULER_CONFIG_MAP} as Apportion does, so upgrades do not revert it.",
        "Name the release volcano and install it in namespace volcano-system: the ConfigMap's name contains the release name.",
    ]
    return Artifact(VALUES_FILE, yaml_document(notes, {"custom": custom}))


def _kuberay_values(program: Program) -> Artifact:
    notes = ["Value for KubeRay's Helm chart. A KubeRay operator supports only one batch scheduler."]
    return Artifact(KUBERAY_VALUES_FILE, yaml_document(notes, {"batchScheduler": {"name": SCHEDULER}}))
