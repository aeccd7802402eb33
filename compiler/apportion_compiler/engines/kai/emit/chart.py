"""Values of KAI's Helm chart that the emitted objects require, and the value for KubeRay.

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
        # Otherwise the chart and this tree would both own the object, and each upgrade would revert the other's
        # changes.
        "defaultShard": {"enabled": not emitted},
        "defaultPriorityClasses": {"enabled": not own_classes},
        # Workloads without a queue name would run there, bypassing every limit of the policy.
        "defaultQueue": {"createDefaultQueue": False},
    }
    notes = ["Values for KAI's Helm chart, required by this cluster's policy; merge them into your own values."]
    if program.kai.scheduler_name != DEFAULT_SCHEDULER:
        notes.append(
            "The chart has no value for the scheduler name: set spec.global.schedulerName to "
            f"{program.kai.scheduler_name} in the Config object kai-config."
        )
    return Artifact(VALUES_FILE, yaml_document(notes, values))


def kuberay_values(program: Program) -> Artifact:
    """Return the value that makes KubeRay use KAI as its batch scheduler."""
    notes = [
        "Value for KubeRay's Helm chart. A KubeRay operator supports only one batch scheduler.",
        "With KAI, KubeRay rejects RayJobs in K8sJobMode (the default): set submissionMode to HTTPMode or SidecarMode.",
    ]
    # KubeRay also writes this name to schedulerName, so it supports no other name of KAI's scheduler.
    return Artifact(KUBERAY_VALUES_FILE, yaml_document(notes, {"batchScheduler": {"name": DEFAULT_SCHEDULER}}))


def node_labels(program: Program, shards: Sequence[Shard]) -> tuple[Artifact, ...]:
    """Return the label that the nodes of each pool must have, if the cluster is partitioned."""
    if len(shards) == 1:
        return ()
    labels = {
        pool: {NODE_POOL_LABEL: shard.model} for shard in shards if shard.model is not None for pool in shard.pools
    }
    notes = [
        "Node label for each pool; it assigns the pool's nodes to a scheduling shard.",
        "Nodes without the label belong to the default shard.",
        "Set the label in the pool's configuration so that new nodes have it.",
    ]
    return (Artifact(NODE_LABELS_FILE, yaml_document(notes, labels)),)
