"""The objects that run the packaged scheduler in a cluster: a least-privilege service account, and the deployment.

Its permissions are in `packaged_scheduler_access`, and the admission policy that narrows them in
`packaged_scheduler_admission`.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from apportion_api.kai.names import RESERVATION_APP
from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_compiler.backends.metadata import MANAGED_BY_LABEL, MANAGER
from apportion_compiler.dumper import dump_all
from apportion_compiler.packaged_scheduler_access import cluster_rules, lease_rules, reservation_rules
from apportion_compiler.packaged_scheduler_admission import config_map_policy, job_policy, pod_policy
from apportion_compiler.plain_objects import Manifest

NAME = "apportion-scheduler"
KAI, ACK = "kai", "ack"
_PORT = 8080
_FOLDER, _FILE = "/etc/apportion", "scheduler.yaml"
_DIGEST = "apportion.dev/configuration-sha256"
_USER = 65532
"""User id of the image, which no node uses."""


@dataclass(frozen=True, slots=True)
class SchedulerDeployment:
    """Deployment settings of the scheduler in a cluster.

    Attributes:
        image: The image of this repository's Dockerfile, by digest.
        replicas: Number of replicas, one of which is the leader.
        namespace: Namespace of its objects.
        scheduler: The `schedulerName` of its pods.
        shards: The SchedulingShards to schedule, each by a Deployment of its own; empty if the cluster has one.
        reservation: KAI's image `resourcereservation`; without it, GPUs are not shared between pods.
        engine: The engine of the cluster: `kai`, or `ack`, whose suspended jobs are released. `scheduler`, `shards` and
            `reservation` apply only to KAI.
    """

    image: str
    replicas: int = 2
    namespace: str = "apportion-system"
    scheduler: str = "kai-scheduler"
    shards: tuple[str, ...] = ()
    reservation: str | None = None
    engine: str = KAI

    @property
    def releases_jobs(self) -> bool:
        """Whether it releases jobs instead of scheduling pods."""
        return self.engine == ACK


def scheduler_objects(packaged: SchedulerDeployment) -> tuple[Manifest, ...]:
    """Return the objects in apply order: the account, then the processes."""
    return (*_account(packaged), *(made for shard in packaged.shards or (None,) for made in _process(packaged, shard)))


def _account(packaged: SchedulerDeployment) -> tuple[Manifest, ...]:
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(packaged.namespace, None)},
        {**_of(packaged, "v1", "ServiceAccount"), "automountServiceAccountToken": False},
        # Before the account has any permission.
        *_policies(packaged),
        _cluster_role(packaged),
        _cluster_binding(packaged),
        _role(packaged),
        _binding(packaged),
        *(_reservation_access(packaged) if packaged.reservation else ()),
    )


def _process(packaged: SchedulerDeployment, shard: str | None) -> tuple[Manifest, ...]:
    return (
        _config_map(packaged, shard),
        _deployment(packaged, shard),
        _service(packaged, shard),
        _budget(packaged, shard),
    )


def _name(shard: str | None) -> str:
    return f"{NAME}-{shard}" if shard else NAME


def _selector(shard: str | None) -> dict[str, str]:
    return {"app.kubernetes.io/name": NAME, **({"app.kubernetes.io/instance": shard} if shard else {})}


def _metadata(name: str, namespace: str | None) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": NAME, MANAGED_BY_LABEL: MANAGER}
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": labels}


def _of(packaged: SchedulerDeployment, api_version: str, kind: str, shard: str | None = None) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": _metadata(_name(shard), packaged.namespace)}


def _policies(packaged: SchedulerDeployment) -> tuple[Manifest, ...]:
    account = f"system:serviceaccount:{packaged.namespace}:{NAME}"
    if packaged.releases_jobs:
        return job_policy(_metadata(NAME, None), account)
    policies = pod_policy(_metadata(NAME, None), account, shares_gpus=packaged.reservation is not None)
    if packaged.reservation is None:
        return policies
    return *policies, *config_map_policy(_metadata(f"{NAME}-configmaps", None), account)


def _cluster_role(packaged: SchedulerDeployment) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": _metadata(NAME, None),
        "rules": cluster_rules(shares_gpus=packaged.reservation is not None, releases_jobs=packaged.releases_jobs),
    }


def _role(packaged: SchedulerDeployment) -> Manifest:
    leases = [_name(shard) for shard in packaged.shards or (None,)]
    return {**_of(packaged, "rbac.authorization.k8s.io/v1", "Role"), "rules": lease_rules(leases)}


def _reservation_access(packaged: SchedulerDeployment) -> tuple[Manifest, ...]:
    """Return what permits reservation pods, in the namespace that KAI's chart creates for them."""
    name = f"{NAME}-reservations"
    access = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": _metadata(name, RESERVATION_APP)}
    return (
        {**access, "kind": "Role", "rules": reservation_rules()},
        {**access, "kind": "RoleBinding", **_bound(packaged, "Role", name)},
    )


def _cluster_binding(packaged: SchedulerDeployment) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(NAME, None),
        **_bound(packaged, "ClusterRole"),
    }


def _binding(packaged: SchedulerDeployment) -> Manifest:
    return {**_of(packaged, "rbac.authorization.k8s.io/v1", "RoleBinding"), **_bound(packaged, "Role")}


def _bound(packaged: SchedulerDeployment, kind: str, role: str = NAME) -> dict[str, Any]:
    return {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": packaged.namespace}],
    }


def _config_map(packaged: SchedulerDeployment, shard: str | None) -> Manifest:
    return {**_of(packaged, "v1", "ConfigMap", shard), "data": {_FILE: _configuration(packaged, shard)}}


def _configuration(packaged: SchedulerDeployment, shard: str | None) -> str:
    """Return the configuration document, which `apportion schema --for scheduler` describes."""
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "SchedulerConfiguration",
        **({"engine": packaged.engine} if packaged.releases_jobs else {"schedulerName": packaged.scheduler}),
        **({"shard": shard} if shard else {}),
        "port": _PORT,
        "leaderElection": {"lease": f"{packaged.namespace}/{_name(shard)}"},
        **({"gpuReservation": {"image": packaged.reservation}} if packaged.reservation else {}),
    }
    return dump_all([document])


def _deployment(packaged: SchedulerDeployment, shard: str | None) -> Manifest:
    selector = _selector(shard)
    probe = {"port": _PORT, "scheme": "HTTP"}
    container = {
        "name": "scheduler",
        "image": packaged.image,
        "args": ["scheduler", "--config", f"{_FOLDER}/{_FILE}"],
        "ports": [{"name": "http", "containerPort": _PORT, "protocol": "TCP"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", **probe}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}, "periodSeconds": 5},
        # Measured at 1,000 nodes and 8,000 pods: docs/performance.md.
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        # Python's TLS library reads certificates only from files.
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a path in the container.
            {"name": "configuration", "mountPath": _FOLDER, "readOnly": True},
        ],
    }
    pod = {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        # The scheduler must not depend on itself to be scheduled.
        "schedulerName": "default-scheduler",
        "priorityClassName": "system-cluster-critical",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "tmp", "emptyDir": {"sizeLimit": "16Mi"}},
            {"name": "configuration", "configMap": {"name": _name(shard)}},
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": HOSTNAME_LABEL,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector},
            }
        ],
    }
    # Most settings take effect when the process starts, so a change replaces the pods.
    digest = sha256(_configuration(packaged, shard).encode()).hexdigest()
    return {
        **_of(packaged, "apps/v1", "Deployment", shard),
        "spec": {
            "replicas": packaged.replicas,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": selector, "annotations": {_DIGEST: digest}}, "spec": pod},
        },
    }


def _service(packaged: SchedulerDeployment, shard: str | None) -> Manifest:
    ports = [{"name": "http", "port": _PORT, "targetPort": "http", "protocol": "TCP"}]
    selector = _selector(shard)
    return {**_of(packaged, "v1", "Service", shard), "spec": {"selector": selector, "ports": ports}}


def _budget(packaged: SchedulerDeployment, shard: str | None) -> Manifest:
    selector = {"matchLabels": _selector(shard)}
    spec = {"maxUnavailable": 1, "selector": selector}
    return {**_of(packaged, "policy/v1", "PodDisruptionBudget", shard), "spec": spec}
