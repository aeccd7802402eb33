"""The cluster of a kubeconfig, as the commands of `apportion` read it from a snapshot."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

from apportion_cli.cluster_inputs import ClusterInputs, read_live_objects
from apportion_cli.errors import PreconditionError
from apportion_cli.kubernetes_client import require_kubernetes_client

if TYPE_CHECKING:
    from apportion_review.cluster_reviews import ClusterSnapshot

Object = dict[str, Any]


def live_objects(kubeconfig: str | None, context: str | None) -> list[Object]:
    """Return the objects of a cluster.

    Raises:
        PreconditionError: If the client is not installed, or the cluster cannot be read.
    """
    require_kubernetes_client()

    from apportion_runtime.kube.cluster_reader import cluster_objects
    from apportion_runtime.kube.connection import connect
    from apportion_runtime.kube.definitions import MissingDefinitions, check_definitions
    from apportion_runtime.kube.errors import Refused, Unreachable

    try:
        connection = connect(kubeconfig, context)
        try:
            return list(cluster_objects(connection))
        except Refused:
            check_definitions(connection)
            raise
    except Unreachable as unreachable:
        raise PreconditionError(str(unreachable)) from None
    except MissingDefinitions as missing:
        raise PreconditionError(str(missing), hint=missing.installation) from None
    except Refused as refused:
        raise PreconditionError(
            f"the cluster cannot be read: {refused}", hint="request `list` permission on these resources"
        ) from None


def live_snapshot(kubeconfig: str | None, context: str | None) -> ClusterSnapshot:
    """Return the same as a snapshot taken now. Raises `PreconditionError` as `live_objects` does."""
    from apportion_review.cluster_reviews import ClusterSnapshot
    from apportion_review.review import SnapshotInfo

    objects = live_objects(kubeconfig, context)
    digest = hashlib.sha256(snapshot_text(objects).encode()).hexdigest()
    return ClusterSnapshot(SnapshotInfo("(live)", f"sha256:{digest}", time.time(), 0), objects)


def snapshot_text(objects: list[Object]) -> str:
    """Return objects as `kubectl get -o json` prints them."""
    document = {"apiVersion": "v1", "kind": "List", "items": objects}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def live_inputs(objects: list[Object], shard: str | None) -> ClusterInputs:
    """Return the cluster as a cycle reads it. Raises `click.UsageError` if there is no such shard."""
    return read_live_objects("cluster", objects, now=time.time(), shard=shard)
