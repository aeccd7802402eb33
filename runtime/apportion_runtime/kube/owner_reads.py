"""Reads of the owners of pods: objects of any kind, whose API paths are discovered.

The group and version of an owner are in its reference; the discovery documents of the API server list their resources.
"""

from __future__ import annotations

from http import HTTPStatus

from apportion_runtime.admission.objects import Unreadable
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.resources import OWNERS, Resource


class OwnerReader:
    """Reads objects one at a time; discovery runs once for each kind that the API server serves."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._served: dict[str, dict[str, tuple[Resource, bool]]] = {}

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object; None if it, or its kind, does not exist.

        Raises:
            Unreadable: If the account may not read it.
            Refused: If the API server rejects the request for another reason.
            Unreachable: If it does not respond.
        """
        known = OWNERS.get(kind)
        if known is not None and known.api_version == api_version:
            return self._get(known.path(namespace, name))
        found = self._served.get(api_version, {}).get(kind)
        if found is None:
            # Its definition may have been installed since the last discovery.
            self._discover(api_version)
            found = self._served[api_version].get(kind)
        if found is None:
            return None
        resource, is_namespaced = found
        return self._get(resource.path(namespace if is_namespaced else "", name))

    def _get(self, path: str) -> Manifest | None:
        try:
            return self._connection.request("GET", path)
        except Refused as refused:
            if refused.status == HTTPStatus.FORBIDDEN:
                raise Unreadable(str(refused)) from None
            if refused.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def _discover(self, api_version: str) -> None:
        """Cache the resources of a group and version by kind, and whether they are namespaced."""
        document = self._get(Resource("", api_version, "").root) or {"resources": ()}
        self._served[api_version] = {
            one["kind"]: (Resource(one["kind"], api_version, one["name"]), bool(one["namespaced"]))
            for one in document["resources"]
            if "/" not in one["name"]
        }
