"""Values of KAI's Helm chart that the emitted objects rely on, and KubeRay's one value.

Source: deployments/kai-scheduler/values.yaml at d5bc503a; KubeRay helm-chart/kuberay-operator/values.yaml.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_api.kai.names import DEFAULT_SCHEDULER, NODE_POOL_LABEL, QUEUE_LABEL
from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.yaml_documents import yaml_document
from apportion_compiler.engines.kai.emit.shards import Shard
from apportion_compiler.ir.program import Program

VALUES_FILE = "values.yaml"
KUBERAY_VALUES_FILE = "kuberay-values.yaml"
NODE_LABELS_FILE = "node-labels.yaml"


def chart_values(program: Program, emitted: Sequence[Shard], *, own_classes: bool) -> Artifact:
    """Return the values for `helm upgrade kai-scheduler … -f values.yaml`."""
    values: dict[str, object] = {
        "global": {"gpuSharing": program.kai.gpu_sharing, "nodePoolLabelKey": NODE_POOL_LABEL},
        "podgrouper": {"queueLabelKey": QUEUE_LABEL},
        # The chart and this tree would otherwise both own the object, and each upgrade would undo the other's.
        "defaultShard": {"enabled": not emitted},
        "defaultPriorityClasses": {"enabled": not own_classes},
        # Work that names no queue would run there, outside of every limit of the policy.
        "defaultQueue": {"createDefaultQueue": False},
    }
    notes = ["Values for KAI's Helm chart, required by this cluster's policy; merge them into your own values."]
    if program.kai.scheduler_name != DEFAULT_SCHEDULER:
        notes.append(
            f"The chart has no value for the scheduler's name: set spec.global.schedulerName to "
            f"{program.kai.scheduler_name} in the Config object kai-config."
        )
    return Artifact(VALUES_FILE, yaml_document(notes, values))


def kuberay_values(program: Program) -> Artifact:
    """Return the value that makes KubeRay hand its pods to KAI."""
    notes = [
        "Value for KubeRay's Helm chart. A KubeRay operator supports only one batch scheduler.",
        "KubeRay rejects a RayJob in K8sJobMode, its default, with KAI: set submissionMode to HTTPMode or SidecarMode.",
    ]
    # KubeRay writes this name into schedulerName too, so it knows no other name of KAI's scheduler.
    return Artifact(KUBERAY_VALUES_FILE, yaml_document(notes, {"batchScheduler": {"name": DEFAULT_SCHEDULER}}))


def node_labels(program: Program, shards: Sequence[Shard]) -> tuple[Artifact, ...]:
    """Return the label that the nodes of each pool must carry, where the cluster is divided."""
    if len(shards) == 1:
        return ()
    labels = {
        pool: {NODE_POOL_LABEL: shard.model} for shard in shards if shard.model is not None for pool in shard.pools
    }
    notes = [
        "Node label of each pool, which assigns its nodes to a scheduling shard.",
        (
            "Nodes without the label belong to the default shard; set it in the configuration of the pool so that new "
            "nodes get it."
        ),
    ]
    return (Artifact(NODE_LABELS_FILE, yaml_document(notes, labels)),)
