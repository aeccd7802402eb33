"""Versions and settings of ACK's components that the emitted objects require: they are not objects of the cluster."""

from __future__ import annotations

from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.yaml_documents import yaml_document
from apportion_compiler.ir.program import Program

COMPONENTS_FILE = "components.yaml"
_QUEUED_KINDS = ("job", "rayjob", "pytorchjob", "tfjob", "mpijob", "sparkapp")


def components(program: Program) -> Artifact:
    """Return the components, each with its minimum version and required settings."""
    needed: dict[str, object] = {
        "kubernetes": {"minimumVersion": "1.24", "edition": "ACK managed Pro, or ACK Lingjun"},
        "ack-kube-queue": {"minimumVersion": "1.21.4", "enabledExtensions": list(_QUEUED_KINDS)},
        "kube-scheduler": {
            "preemptionAlgorithm": "ElasticQuota",
            "placement": {"gpu": program.gpu_placement, "cpu": program.cpu_placement},
        },
        "ack-koordinator": {"installed": True},
        "kuberay-operator": {
            "installed": True,
            "edition": "the ACK version, which marks RayJob pods as a gang",
        },
    }
    notes = [
        "ACK components that this cluster's policy requires; configure them in the console or through the ACK API.",
        "Without preemption by ElasticQuota, the scheduler does not reclaim lent capacity.",
        "kube-system/elasticquotatree must be the only ElasticQuotaTree: more than one corrupts the accounting.",
    ]
    return Artifact(COMPONENTS_FILE, yaml_document(notes, needed))
