"""The permissions of the packaged scheduler: one table, whose rows become rules of its roles.

Each permission is exactly one that `apportion_runtime.kube` uses: an end-to-end test runs the scheduler with them, and
fails if the API server's audit log has a request without a permission, or no request for a permission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_api.ack.names import QUEUE_GROUP, TREE_GROUP
from apportion_api.kai.names import CONFIGURATION_GROUP, GROUP
from apportion_api.kubernetes.names import SCHEDULING_GROUP

Rule = Mapping[str, Sequence[str]]
_LEASES = "coordination.k8s.io"
_WATCH = ("list", "watch")

CLUSTER_ACCESS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("", ("nodes", "namespaces", "persistentvolumes", "persistentvolumeclaims"), _WATCH),
    # Pods are labelled with their pod group, and read again if the outcome of a bind is uncertain.
    ("", ("pods",), ("get", *_WATCH, "patch")),
    ("", ("pods/binding", "pods/eviction"), ("create",)),
    ("", ("pods/status",), ("patch",)),
    ("", ("events",), ("create",)),
    (SCHEDULING_GROUP, ("priorityclasses",), _WATCH),
    (GROUP, ("queues",), _WATCH),
    (GROUP, ("podgroups",), (*_WATCH, "create", "patch")),
    (GROUP, ("queues/status", "podgroups/status"), ("patch",)),
    (CONFIGURATION_GROUP, ("schedulingshards", "configs", "topologies"), _WATCH),
)
"""What the scheduler itself reads and writes in all namespaces: API group, resources, verbs."""

OWNERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("apps", ("replicasets", "deployments", "statefulsets")),
    ("batch", ("jobs", "cronjobs")),
    ("jobset.x-k8s.io", ("jobsets",)),
    ("leaderworkerset.x-k8s.io", ("leaderworkersets",)),
    (
        "kubeflow.org",
        ("mpijobs", "pytorchjobs", "tfjobs", "xgboostjobs", "jaxjobs", "notebooks", "scheduledworkflows"),
    ),
    ("trainer.kubeflow.org", ("trainjobs",)),
    ("ray.io", ("rayclusters", "rayjobs", "rayservices")),
    ("serving.knative.dev", ("services", "configurations", "revisions")),
    ("grove.io", ("podcliques", "podcliquescalinggroups", "podcliquesets", "podgangsets")),
    ("scheduler.grove.io", ("podgangs",)),
    ("argoproj.io", ("workflows",)),
    ("tekton.dev", ("pipelineruns", "taskruns")),
    ("machinelearning.seldon.io", ("seldondeployments",)),
    ("kubevirt.io", ("virtualmachines", "virtualmachineinstances")),
    ("workspace.devfile.io", ("devworkspaces",)),
    ("amlarc.azureml.com", ("amljobs",)),
    ("egx.nvidia.io", ("spotrequests",)),
    (
        "run.ai",
        (
            "distributedinferenceworkloads",
            "distributedworkloads",
            "inferenceworkloads",
            "interactiveworkloads",
            "runaijobs",
            "trainingworkloads",
        ),
    ),
)
"""The owners of pods, each read to group its pods: what KAI's pod grouper may read.

Source: deployments/kai-scheduler/templates/rbac/podgrouper.yaml at d5bc503a.
"""


ADMISSION_ACCESS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (TREE_GROUP, ("elasticquotatrees",), _WATCH),
    (QUEUE_GROUP, ("queues",), (*_WATCH, "create")),
    # The definition of 2023 has no subresource for the status, which is then a part of the object.
    (QUEUE_GROUP, ("queueunits",), (*_WATCH, "create", "patch", "delete")),
    (QUEUE_GROUP, ("queueunits/status",), ("patch",)),
    ("batch", ("jobs",), (*_WATCH, "patch")),
    ("ray.io", ("rayjobs",), (*_WATCH, "patch")),
    (SCHEDULING_GROUP, ("priorityclasses",), _WATCH),
    ("", ("events",), ("create",)),
)
"""What the scheduler reads and writes instead if it releases the suspended jobs of ACK."""


def cluster_rules(*, shares_gpus: bool, releases_jobs: bool = False) -> list[Rule]:
    """Return the rules of the ClusterRole.

    Args:
        shares_gpus: Whether it schedules pods that share GPUs.
        releases_jobs: Whether it releases jobs, and schedules no pods.
    """
    if releases_jobs:
        return [_rule(group, resources, verbs) for group, resources, verbs in ADMISSION_ACCESS]
    return [
        *(_rule(group, resources, verbs) for group, resources, verbs in CLUSTER_ACCESS),
        *(_rule(group, resources, ("get",)) for group, resources in OWNERS),
        # A pod that shares a GPU reads its devices from ConfigMaps of its namespace.
        *([_rule("", ("configmaps",), ("create", "patch"))] if shares_gpus else []),
    ]


def reservation_rules() -> list[Rule]:
    """Return the rules of the Role in the namespace of reservation pods."""
    return [_rule("", ("pods",), ("create", "delete"))]


def lease_rules(leases: Sequence[str]) -> list[Rule]:
    """Return the rules of the Role in the namespace of the leases; RBAC cannot restrict `create` to a name."""
    return [
        _rule(_LEASES, ("leases",), ("create",)),
        {**_rule(_LEASES, ("leases",), ("get", "update")), "resourceNames": list(leases)},
    ]


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
