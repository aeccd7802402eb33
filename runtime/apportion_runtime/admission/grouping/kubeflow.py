"""Jobs of Kubeflow's training operator, except PyTorchJobs: all pods of all roles together, unless a policy sets fewer.

Source: pkg/podgrouper/podgrouper/plugins/kubeflow (distributed_common.go, mpi, tensorflow, xgboost, jax) at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from apportion_api.kubernetes.operators import JOB_NAME_LABEL, JOB_ROLE_LABEL
from apportion_runtime.admission.grouping.default import Owners, group_by_default
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    name_of,
    namespace_of,
    nested,
    text,
    whole,
)

ROLES: Mapping[str, str] = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
}
"""The field of each kind that has the number of pods of each role."""
_MPI_LAUNCHER = "Launcher"
_REQUIRED_ROLES: Mapping[str, tuple[str, ...]] = {
    "MPIJob": (_MPI_LAUNCHER, "Worker"),
    "XGBoostJob": ("Master", "Worker"),
    "JAXJob": ("Worker",),
}
_AFTER_WORKERS = "WaitForWorkersReady"


def group_distributed(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group with a minimum of all pods, or that of the run policy."""
    made = group_by_default(owner, pod, (), objects)
    declared = whole(owner, "spec", "runPolicy", "schedulingPolicy", "minAvailable")
    return replace(made, min_members=n_pods(owner) if declared is None else declared)


def group_mpi(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return one pod group; a launcher that starts after its workers counts toward the minimum only once it exists."""
    made = group_distributed(owner, pod, owners, objects)
    if text(owner, "spec", "launcherCreationPolicy") != _AFTER_WORKERS:
        return made
    labels = {JOB_NAME_LABEL: name_of(owner), JOB_ROLE_LABEL: "launcher"}
    launchers_now = objects.pods(namespace_of(owner), labels)
    if any(not nested(launcher, "metadata", "deletionTimestamp") for launcher in launchers_now):
        return made
    launchers = whole(owner, "spec", ROLES["MPIJob"], _MPI_LAUNCHER, "replicas")
    if not launchers:
        raise GroupingError(
            f"the type of the job {name_of(owner)} doesn't allow for 0 mpiReplicaSpecs pods. Please fix the replica field"
        )
    return replace(made, min_members=made.min_members - launchers)


def n_pods(owner: Manifest) -> int:
    """Return the number of pods of a job in all its roles.

    Raises:
        GroupingError: If a role is missing, or has none.
    """
    kind, name = str(owner.get("kind")), name_of(owner)
    field = ROLES[kind]
    roles = nested(owner, "spec", field)
    if not isinstance(roles, Mapping):
        raise GroupingError(f"the type of the job {name} doesn't have a {field} field. Please fix the replica field")
    for role in _REQUIRED_ROLES.get(kind, ()):
        if role not in roles:
            raise GroupingError(
                f"the type of the job {name} doesn't have a {role} replica spec which is required. "
                "Please fix the replica field"
            )
    total = 0
    for role in roles:
        replicas = whole(owner, "spec", field, role, "replicas")
        if not replicas:
            raise GroupingError(
                f"the type of the job {name} doesn't allow for 0 {role} pods. Please fix the replica field"
            )
        total += replicas
    if total <= 0:
        raise GroupingError(
            f"failed calculate number of pods for a distributed job {name}. Must be greater than 0, but got {total}"
        )
    return total
