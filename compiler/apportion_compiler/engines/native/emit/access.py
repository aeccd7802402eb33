"""RBAC: each team can use its own namespaces and read the queues, but cannot change its quotas.

A team is the group that owns a queue, named exactly as the owner: the cluster's authenticator must assign its members a
group of that name.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_compiler.backends.admission.namespaces import ADMINISTER_VERB, ADMINISTERED_RESOURCE
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import GROUP, metadata
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name

_API = "rbac.authorization.k8s.io/v1"
_API_GROUP = "rbac.authorization.k8s.io"
TEAM_ROLE = "apportion-team"
READER_ROLE = "apportion-reader"
ADMINISTRATOR_ROLE = "apportion-administrator"

_READ = ("get", "list", "watch")
_WRITE = (*_READ, "create", "update", "patch", "delete", "deletecollection")

_TEAM: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("", ("configmaps", "persistentvolumeclaims", "pods", "secrets", "services"), _WRITE),
    ("", ("pods/attach", "pods/eviction", "pods/exec", "pods/portforward"), ("create", "get")),
    ("", ("endpoints", "events", "limitranges", "pods/log", "pods/status", "resourcequotas", "serviceaccounts"), _READ),
    ("apps", ("deployments", "deployments/scale", "statefulsets", "statefulsets/scale"), _WRITE),
    ("apps", ("controllerrevisions", "replicasets"), _READ),
    ("batch", ("cronjobs", "jobs"), _WRITE),
    ("events.k8s.io", ("events",), _READ),
    ("jobset.x-k8s.io", ("jobsets",), _WRITE),
    ("kubeflow.org", ("jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"), _WRITE),
    ("leaderworkerset.x-k8s.io", ("leaderworkersets",), _WRITE),
    ("ray.io", ("rayclusters", "rayjobs", "rayservices"), _WRITE),
)
"""Permissions of a team in its namespaces.

Quotas, roles and the namespace itself are excluded, as is `pods/binding`, which bypasses every scheduler.
"""

_READER: tuple[tuple[str, tuple[str, ...]], ...] = ((SCHEDULING_GROUP, ("priorityclasses",)),)
"""Cluster-wide objects that a team can read to find out what it may use."""


def cluster_roles(program: Program) -> Iterator[Manifest]:
    """Yield the roles: a team's permissions, read access, and the role of the platform team."""
    traits = TRAITS[program.engine]
    team = [
        *(_rule(group, resources, verbs) for group, resources, verbs in _TEAM),
        *(_rule(group, resources, _WRITE) for group, resources in traits.team_writes),
        *(_rule(group, resources, _READ) for group, resources in traits.team_reads),
    ]
    reader = [_rule(group, resources, _READ) for group, resources in (*_READER, *traits.cluster_reads)]
    administrator = [_rule(GROUP, (ADMINISTERED_RESOURCE,), (ADMINISTER_VERB,))]
    for name, rules in ((TEAM_ROLE, team), (READER_ROLE, reader), (ADMINISTRATOR_ROLE, administrator)):
        yield {
            "apiVersion": _API,
            "kind": "ClusterRole",
            "metadata": metadata(program, name, program.source),
            "rules": rules,
        }


def role_bindings(program: Program) -> Iterator[Manifest]:
    """Yield, for each namespace of a queue with an owner, the binding of its team."""
    for queue in program.queues:
        for namespace in queue.namespaces if queue.owner is not None else ():
            yield {
                "apiVersion": _API,
                "kind": "RoleBinding",
                "metadata": metadata(program, TEAM_ROLE, queue.source, namespace=namespace, queue=queue),
                "roleRef": {"apiGroup": _API_GROUP, "kind": "ClusterRole", "name": TEAM_ROLE},
                "subjects": [_group(queue.owner)] if queue.owner is not None else [],
            }


def reader_bindings(program: Program) -> Iterator[Manifest]:
    """Yield one binding for each top-level queue, with all owners in its subtree, to the role that reads queues."""
    owners: dict[str, set[str]] = {}
    tops: dict[str, Queue] = {}
    for queue in program.queues:
        tops.setdefault(queue.path[0], queue)
        if queue.owner is not None:
            owners.setdefault(queue.path[0], set()).add(queue.owner)
    for id_, groups in owners.items():
        yield {
            "apiVersion": _API,
            "kind": "ClusterRoleBinding",
            "metadata": metadata(program, object_name(f"{READER_ROLE}-{id_}"), tops[id_].source, queue=tops[id_]),
            "roleRef": {"apiGroup": _API_GROUP, "kind": "ClusterRole", "name": READER_ROLE},
            "subjects": [_group(owner) for owner in sorted(groups)],
        }


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> dict[str, object]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _group(owner: str) -> dict[str, str]:
    return {"kind": "Group", "apiGroup": _API_GROUP, "name": owner}
