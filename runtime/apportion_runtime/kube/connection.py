"""Connections to a Kubernetes API server, authenticated by a kubeconfig or the pod's service account.

The official client reads the configuration, refreshes credentials, and sets up TLS and proxies. Requests use its pool
of connections directly: its models and its serialization would take several times the CPU time of a request.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.config.kube_config import KubeConfigMerger
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, PoolManager, Timeout
from urllib3.exceptions import HTTPError, InsecureRequestWarning
from urllib3.util import parse_url

from apportion_runtime.kube.api_status import origin_of, read_status
from apportion_runtime.kube.credential_errors import credential_errors
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.resources import WATCHED

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_S = 30.0
_SHAPE = "it must be a mapping with lists of clusters, users and contexts"
_GRACE_S = 15.0
"""The grace period after the requested end of a watch, in seconds."""
N_WRITERS = 16
"""The maximum number of concurrent writes by default."""
_OTHERS = 4
"""The number of connections in addition to those of watches and writes."""


def connect(kubeconfig: str | None, context: str | None = None, n_writers: int = N_WRITERS) -> Connection:
    """Return a connection from the given kubeconfig, KUBECONFIG, the pod's service account, or ~/.kube/config.

    It is kept open for `n_writers` concurrent writes.

    Raises:
        Unreachable: If there is no kubeconfig, or it is invalid.
    """
    configuration = Configuration()
    named = kubeconfig or os.environ.get("KUBECONFIG")
    is_in_pod = named is None and (_ACCOUNT / "token").is_file()
    files = str(_ACCOUNT) if is_in_pod else named or str(Path.home() / ".kube" / "config")
    if not any(Path(file).exists() for file in files.split(os.pathsep)):
        raise Unreachable(f"kubeconfig {files} does not exist; pass --kubeconfig FILE")
    errors: Sequence[str] = ()
    try:
        if is_in_pod:
            load_incluster_config(client_configuration=configuration)
        else:
            _check_context(files, context)
            with credential_errors() as errors:
                load_kube_config(files, context, client_configuration=configuration, persist_config=False)
    except OSError as refused:
        raise Unreachable(f"{refused.filename or files} cannot be read: {refused.strerror}") from None
    except (ConfigException, KeyError, TypeError, ValueError, AttributeError, yaml.YAMLError) as wrong:
        # The client does not check the types of fields.
        is_of_wrong_type = isinstance(wrong, TypeError | AttributeError)
        message = _SHAPE if is_of_wrong_type else " ".join(str(wrong).split())
        raise Unreachable(f"invalid kubeconfig {files}: {message}") from None
    if errors:
        raise Unreachable(f"kubeconfig {files}: {errors[0]}")
    try:
        return Connection(configuration, n_writers)
    except HTTPError as wrong:
        server = configuration.host or "none"
        raise Unreachable(f"kubeconfig {files}: the cluster's server is not a URL ({server}): {wrong}") from None


def _check_context(files: str, context: str | None) -> None:
    """Raise `Unreachable` if the files lack the context, or select none; other faults are left to the client."""
    merged = KubeConfigMerger(files).config
    document: object = None if merged is None else merged.value
    contexts = document.get("contexts") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(contexts, list):
        return
    names = [str(one.value["name"]) for one in contexts if isinstance(one.value, dict) and "name" in one.value]
    selected = context or document.get("current-context")
    if selected in names:
        return
    listed = ", ".join(names) or "none"
    if selected:
        raise Unreachable(f"kubeconfig {files} has no context {selected}; its contexts: {listed}")
    raise Unreachable(f"kubeconfig {files} has no current-context; pass --context with one of: {listed}")


class Connection:
    """A connection to one API server; safe for use by several threads.

    Attributes:
        is_verified: Whether the certificate of the API server is verified.
        on_error: Receives the method and the HTTP status, or `unreachable`, of each request that fails.
    """

    def __init__(self, configuration: Configuration, n_writers: int = N_WRITERS) -> None:
        self.on_error: Callable[[str, str], None] = lambda method, code: None
        # Callers retry and report failures themselves.
        configuration.retries = False
        self.is_verified = bool(configuration.verify_ssl) or not configuration.host.startswith("https:")
        if not self.is_verified:
            # Otherwise each connection prints a warning; the caller warns once.
            warnings.simplefilter("ignore", InsecureRequestWarning)
        configuration.connection_pool_maxsize = len(WATCHED) + n_writers + _OTHERS
        self.configuration = configuration
        self._server = configuration.host
        manager: PoolManager = ApiClient(configuration).rest_client.pool_manager
        # Behind an HTTP proxy, the manager sets the headers for the proxy and requires whole URLs.
        is_direct = manager.proxy is None
        self._pool: PoolManager | HTTPConnectionPool = (
            manager.connection_from_url(configuration.host) if is_direct else manager
        )
        self._root = (parse_url(configuration.host).path or "").rstrip("/") if is_direct else configuration.host
        self.headers = {"Accept": "application/json", "User-Agent": "apportion-scheduler"}

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        timeout_s: float = _TIMEOUT_S,
    ) -> dict[str, Any]:
        """Return the API server's response.

        Raises:
            Refused: If it rejects the request.
            Unreachable: If it does not respond, or not with an object.
        """
        answer = self._send(method, path, body, content_type, timeout_s)
        return self._parsed(method, answer.data)

    def lines(self, path: str, timeout_s: int) -> Iterator[dict[str, Any]]:
        """Yield the events of a watch until it ends.

        Raises:
            Refused: If the API server rejects the request.
            Unreachable: If it does not respond, or not with events.
        """
        answer = self._send(
            "GET", f"{path}&timeoutSeconds={timeout_s}", None, "", timeout_s + _GRACE_S, is_streamed=True
        )
        try:
            for line in _lines(answer):
                yield self._parsed("GET", line)
        except (OSError, HTTPError) as failed:
            raise self._unreachable("GET", failed) from None
        finally:
            answer.close()

    def _send(
        self, method: str, path: str, body: object, content_type: str, timeout_s: float, *, is_streamed: bool = False
    ) -> BaseHTTPResponse:
        headers = dict(self.headers)
        # Credentials that expire are refreshed here.
        with credential_errors() as errors:
            token = self.configuration.auth_settings().get("BearerToken")
        if errors:
            raise self._unreachable(method, errors[0])
        if token is not None:
            headers[token["key"]] = token["value"] or ""
        data = None
        if body is not None:
            data = json.dumps(body, separators=(",", ":")).encode()
            headers["Content-Type"] = content_type
        try:
            answer = self._pool.urlopen(
                method,
                self._root + path,
                body=data,
                headers=headers,
                timeout=Timeout(timeout_s),
                retries=False,
                redirect=False,
                preload_content=not is_streamed,
            )
            if answer.status < HTTPStatus.MULTIPLE_CHOICES:
                return answer
            content = answer.data
        except (OSError, HTTPError) as failed:
            raise self._unreachable(method, failed) from None
        self.on_error(method, str(answer.status))
        raise _refusal(answer, content)

    def _parsed(self, method: str, data: bytes) -> dict[str, Any]:
        try:
            document: object = json.loads(data)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            # A page of a proxy or load balancer before the API server.
            raise self._unreachable(method, "the response is not a JSON object")
        return document

    def _unreachable(self, method: str, failed: object) -> Unreachable:
        self.on_error(method, "unreachable")
        return Unreachable(f"cannot reach {self._server}: {failed}")


def _lines(answer: BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the lines of a response as they arrive; the API server sends each in a chunk."""
    rest = b""
    for chunk in answer.stream(amt=None, decode_content=False):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)


def _refusal(answer: BaseHTTPResponse, content: bytes) -> Refused:
    after, status = answer.headers.get("Retry-After"), read_status(content)
    message = status.get("message") or content.decode(errors="replace").strip()[:500] or answer.reason
    return Refused(
        answer.status,
        str(message or f"HTTP status {answer.status}"),
        retry_after_s=float(after) if after is not None and after.isdigit() else None,
        origin=origin_of(answer.status, status),
    )
