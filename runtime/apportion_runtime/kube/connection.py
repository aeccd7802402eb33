"""HTTP to a Kubernetes API server, as a kubeconfig or the cluster's own service account says."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_S = 30.0
_GRACE_S = 15.0
"""How much later than asked a watch may end."""


class Unreachable(Exception):
    """There is no way to the API server: one clause."""


class Refused(Exception):
    """The API server said no; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """Where an API server is, and who asks.

    Attributes:
        server: `https://host:port`, with a path where a proxy wants one.
        tls: How its certificate is checked, and one's own shown; None is plain HTTP.
        token: Gives the bearer token, anew for each request because the cluster changes it; empty is none.
    """

    server: str
    tls: ssl.SSLContext | None
    token: Callable[[], str]


def access_from(kubeconfig: str | None, context: str | None = None) -> Access:
    """Return the access that a kubeconfig gives: the file named, KUBECONFIG's, the account of the pod, or ~/.kube/config.

    Raises:
        Unreachable: If there is none, or it asks for what this client does not do.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG")
    if named is None and (_ACCOUNT / "token").is_file():
        return _of_pod()
    path = Path(named) if named else Path.home() / ".kube" / "config"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        chosen = context or document["current-context"]
        link = _named(document["contexts"], chosen)["context"]
        cluster = _named(document["clusters"], link["cluster"])["cluster"]
        user = _named(document["users"], link["user"])["user"]
        return _of_entries(cluster, user, path.parent)
    except OSError as refused:
        raise Unreachable(f"{path} cannot be read: {refused.strerror}") from None
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as wrong:
        raise Unreachable(f"{path} is no kubeconfig that says how a cluster is reached: {wrong}") from None


def _of_pod() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    tls = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    shown = f"[{host}]" if ":" in host else host
    return Access(f"https://{shown}:{port}", tls, lambda: (_ACCOUNT / "token").read_text(encoding="ascii").strip())


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise ValueError(f"it has no entry {name}")


def _of_entries(cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path) -> Access:
    for way in ("exec", "auth-provider", "username"):
        if way in user:
            raise ValueError(f"its user logs in by `{way}`; give one with a token or a client certificate")
    server = str(cluster["server"])
    tls = None
    if server.startswith("https:"):
        tls = ssl.create_default_context(cafile=_file(cluster, "certificate-authority", folder))
        if cluster.get("insecure-skip-tls-verify"):
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        certificate = _file(user, "client-certificate", folder)
        if certificate is not None:
            tls.load_cert_chain(certificate, _file(user, "client-key", folder))
    return Access(server, tls, _token(user, folder))


def _token(user: Mapping[str, Any], folder: Path) -> Callable[[], str]:
    if (named := user.get("tokenFile")) is not None:
        file = folder / str(named)
        return lambda: file.read_text(encoding="ascii").strip()
    text = str(user.get("token", ""))
    return lambda: text


def _file(entry: Mapping[str, Any], key: str, folder: Path) -> str | None:
    """Return a file that an entry names, or one with what it holds itself."""
    if (data := entry.get(f"{key}-data")) is not None:
        # Python's TLS reads keys from files alone; this one is the user's, and goes with the process' temporary folder.
        descriptor, written = tempfile.mkstemp(prefix="apportion-")
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(base64.b64decode(data))
        return written
    return None if (name := entry.get(key)) is None else str(folder / name)


class Connection:
    """Requests to one API server; every request has its own connection, so threads may share this."""

    def __init__(self, access: Access) -> None:
        self._access = access
        parts = urlsplit(access.server)
        self._host, self._port, self._base = parts.hostname or "", parts.port, parts.path.rstrip("/")

    def request(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """Return what the API server answers.

        Raises:
            Refused: If it says no.
            Unreachable: If it does not answer.
        """
        try:
            with closing(self._connect(_TIMEOUT_S)) as connection:
                answer = self._send(connection, method, path, body, content_type)
                content = answer.read()
        except (OSError, http.client.HTTPException) as failed:
            raise Unreachable(f"{self._access.server} does not answer: {failed}") from None
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise Refused(answer.status, _said(content))
        document: dict[str, Any] = json.loads(content)
        return document

    def lines(self, path: str, timeout_s: int) -> Iterator[dict[str, Any]]:
        """Yield the events of a watch until it ends.

        Raises:
            Refused: If the API server says no.
            Unreachable: If it does not answer.
        """
        try:
            with closing(self._connect(timeout_s + _GRACE_S)) as connection:
                answer = self._send(connection, "GET", f"{path}&timeoutSeconds={timeout_s}", None, "")
                if answer.status >= HTTPStatus.BAD_REQUEST:
                    raise Refused(answer.status, _said(answer.read()))
                for line in answer:
                    yield json.loads(line)
        except (OSError, http.client.HTTPException) as failed:
            raise Unreachable(f"{self._access.server} does not answer: {failed}") from None

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._access.tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=self._access.tls)

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: object, content_type: str
    ) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": "apportion-scheduler"}
        if token := self._access.token():
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = content_type
        connection.request(method, self._base + path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()


def _said(content: bytes) -> str:
    try:
        document = json.loads(content)
        return str(document["message"])
    except (KeyError, TypeError, ValueError):
        return content.decode(errors="replace").strip()[:500]
