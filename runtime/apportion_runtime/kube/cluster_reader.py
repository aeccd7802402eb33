"""The objects of a cluster that a snapshot contains, read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

from apportion_api.kai.names import BIND_REQUEST_API
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.resources import VOLUME, VOLUME_CLAIM, WATCHED, Resource

BIND_REQUESTS = Resource("BindRequest", BIND_REQUEST_API, "bindrequests", is_needed=False)
SNAPSHOT: tuple[Resource, ...] = (
    *(resource for resource in WATCHED.values() if resource.kind not in (VOLUME, VOLUME_CLAIM)),
    BIND_REQUESTS,
)
"""What a snapshot for `simulate --cycle`, `explain` and `review` contains."""
_PAGE = 500


def cluster_objects(connection: Connection, resources: Iterable[Resource] = SNAPSHOT) -> Iterator[dict[str, Any]]:
    """Yield the objects of a cluster, without their managed fields.

    Raises:
        Refused: If the API server rejects a request; a kind that is not needed may be missing.
        Unreachable: If it does not respond.
    """
    for resource in resources:
        path = f"{resource.everywhere}?limit={_PAGE}"
        more = ""
        while True:
            try:
                page = connection.request("GET", f"{path}&continue={more}" if more else path)
            except Refused as refused:
                if refused.status == HTTPStatus.NOT_FOUND and not resource.is_needed:
                    break
                raise
            for one in page["items"]:
                metadata = {key: value for key, value in one["metadata"].items() if key != "managedFields"}
                # Items of a list have no apiVersion and kind.
                yield {"apiVersion": resource.api_version, "kind": resource.kind, **one, "metadata": metadata}
            more = page["metadata"].get("continue") or ""
            if not more:
                break
