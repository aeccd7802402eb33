"""An object of each kind that the packaged scheduler may read as the owner of pods, and definitions of those kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apportion_compiler.packaged_scheduler_access import OWNERS

from .kubectl import Object
from .workloads import template

_TEMPLATE = template(restart="Never")
_SELECTED = {"replicas": 0, "selector": {"matchLabels": {"of": "owner"}}, "template": template({"of": "owner"})}
_DEFINED: dict[tuple[str, str], tuple[str, str, dict[str, Any]]] = {
    ("apps", "replicasets"): ("v1", "ReplicaSet", _SELECTED),
    ("apps", "deployments"): ("v1", "Deployment", _SELECTED),
    ("apps", "statefulsets"): ("v1", "StatefulSet", {**_SELECTED, "serviceName": "owner"}),
    ("batch", "jobs"): ("v1", "Job", {"suspend": True, "template": _TEMPLATE}),
    ("batch", "cronjobs"): (
        "v1",
        "CronJob",
        {"suspend": True, "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": _TEMPLATE}}},
    ),
    ("jobset.x-k8s.io", "jobsets"): ("v1alpha2", "JobSet", {}),
    ("kubeflow.org", "mpijobs"): ("v2beta1", "MPIJob", {"mpiReplicaSpecs": {}}),
    ("kubeflow.org", "pytorchjobs"): ("v1", "PyTorchJob", {"pytorchReplicaSpecs": {}}),
    ("kubeflow.org", "tfjobs"): ("v1", "TFJob", {"tfReplicaSpecs": {}}),
    ("ray.io", "rayclusters"): (
        "v1",
        "RayCluster",
        {"headGroupSpec": {"rayStartParams": {}, "template": _TEMPLATE}},
    ),
    ("ray.io", "rayjobs"): ("v1", "RayJob", {}),
    ("ray.io", "rayservices"): ("v1", "RayService", {"rayClusterConfig": {"headGroupSpec": {"template": _TEMPLATE}}}),
}
"""The version, kind and spec of the kinds that the API server serves itself, or that tests/crds defines."""
_VERSION = "v1"


def owner_definitions() -> Iterator[Object]:
    """Yield a definition of each other kind, without a schema."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for group, plural in _kinds():
        if (group, plural) not in _DEFINED:
            yield {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {
                    "name": f"{plural}.{group}",
                    # Without it, the API server reserves the group.
                    "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
                },
                "spec": {
                    "group": group,
                    "names": {"kind": plural.capitalize(), "plural": plural, "singular": plural[:-1]},
                    "scope": "Namespaced",
                    "versions": [
                        {"name": _VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
                    ],
                },
            }


def owner_objects(namespace: str) -> Iterator[Object]:
    """Yield an object of each kind, named after it."""
    for group, plural in _kinds():
        version, kind, spec = _DEFINED.get((group, plural), (_VERSION, plural.capitalize(), {}))
        yield {
            "apiVersion": f"{group}/{version}",
            "kind": kind,
            "metadata": {"name": f"{plural}-{group.replace('.', '-')}", "namespace": namespace},
            "spec": spec,
        }


def _kinds() -> Iterator[tuple[str, str]]:
    for group, plurals in OWNERS:
        for plural in plurals:
            yield group, plural
