"""Requests to the API server as its administrator, to create a cluster and to read what became of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import urllib3

from ..control_plane import ControlPlane

Object = dict[str, Any]
POD_GROUPS = "/apis/scheduling.run.ai/v2alpha2"
QUEUES = "/apis/scheduling.run.ai/v2/queues"
NODES = "/api/v1/nodes"
_INITIALIZED_S = 60
_TYPES = {"PATCH": "application/merge-patch+json"}


class ApiError(Exception):
    """The API server rejected a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class ApiClient:
    """The administrator's connection."""

    def __init__(self, plane: ControlPlane) -> None:
        self._pool = urllib3.HTTPSConnectionPool(
            "127.0.0.1", plane.port, ca_certs=str(plane.folder / "cert.pem"), maxsize=8, retries=False, timeout=30.0
        )
        self._token = plane.token

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Object:
        """Return the response. Raises `ApiError`, or urllib3's errors if there is none."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": _TYPES.get(method, "application/json"),
            "Accept": "application/json",
        }
        data = None if body is None else json.dumps(body)
        deadline = time.monotonic() + _INITIALIZED_S
        while True:
            answer = self._pool.request(method, path, body=data, headers=headers)
            # After its restart, the API server rejects reads of custom resources until their storage is initialized.
            if method != "GET" or answer.status != HTTPStatus.TOO_MANY_REQUESTS or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        made: Object = answer.json()
        if answer.status >= 400:
            raise ApiError(answer.status, str(made.get("message")))
        return made

    def items(self, path: str) -> list[Object]:
        found: list[Object] = self.request("GET", path)["items"]
        return found

    def delete(self, path: str, *, grace_s: int = 0) -> None:
        """Delete an object, or all objects of a collection; one that does not exist is not an error."""
        try:
            self.request("DELETE", path, {"gracePeriodSeconds": grace_s, "propagationPolicy": "Background"})
        except ApiError as error:
            if error.status != 404:
                raise

    def close(self) -> None:
        self._pool.close()
