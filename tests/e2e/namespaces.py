"""Deletion of namespaces without the namespace controller, which waits five seconds before it deletes what they hold."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from apportion_runtime.kube.connection import Connection, connect
from apportion_runtime.kube.errors import Refused, Rejection

from .kubectl import Kubectl, Object

_EMPTY_S = 100


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def delete_with_namespaces(kubectl: Kubectl, objects: Sequence[Object]) -> None:
    """Delete objects in order, and whatever their namespaces hold, and wait until all are deleted.

    Pods are deleted without a grace period.
    """
    kubectl.request_deletion(objects)
    names = _namespaces(objects)
    if names:
        kinds = list(_namespaced_kinds(kubectl))
        for name in names:
            _empty(_connection(kubectl.kubeconfig), name, kinds)
    _finalize(kubectl, names)
    kubectl.wait_until_deleted(objects)


def delete_with_empty_namespaces(kubectl: Kubectl, objects: Sequence[Object]) -> None:
    """Delete objects in order, and wait until all are deleted; their namespaces must hold nothing else."""
    kubectl.request_deletion(objects)
    _finalize(kubectl, _namespaces(objects))
    kubectl.wait_until_deleted(objects)


def _namespaces(objects: Sequence[Object]) -> list[str]:
    return [one["metadata"]["name"] for one in objects if one["kind"] == "Namespace"]


def _namespaced_kinds(kubectl: Kubectl) -> Iterator[tuple[str, str]]:
    """Yield the API path and the plural of every kind whose objects are in namespaces and can be deleted together."""
    listed = kubectl.must("api-resources", "--namespaced", "--verbs=deletecollection,list", "--no-headers").out
    for line in listed.splitlines():
        # The second of five columns, the short names, may be empty.
        plural, *_, api_version, _, _ = line.split()
        yield f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}", plural


def _empty(connection: Connection, name: str, kinds: Sequence[tuple[str, str]]) -> None:
    deadline = time.monotonic() + _EMPTY_S
    for root, plural in kinds:
        path = f"{root}/namespaces/{name}/{plural}"
        # Objects with finalizers are returned until they are deleted.
        while left := connection.request("DELETE", f"{path}?gracePeriodSeconds=0").get("items"):
            assert time.monotonic() < deadline, f"{path}: {[one['metadata']['name'] for one in left]}"
            time.sleep(0.05)


def _finalize(kubectl: Kubectl, namespaces: Sequence[str]) -> None:
    for name in namespaces:
        finalized = {**namespace(name), "spec": {"finalizers": []}}
        try:
            _connection(kubectl.kubeconfig).request("PUT", f"/api/v1/namespaces/{name}/finalize", finalized)
        except Refused as refused:
            if refused.rejection is not Rejection.GONE:
                raise


@functools.cache
def _connection(kubeconfig: Path) -> Connection:
    return connect(str(kubeconfig))
