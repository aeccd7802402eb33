"""Connections to a Kubernetes API server with the official client, authenticated by a kubeconfig or the pod's service account."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError
from kubernetes.watch.watch import iter_resp_lines
from urllib3.exceptions import HTTPError, InsecureRequestWarning

from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.resources import WATCHED

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_S = 30.0
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
    try:
        if is_in_pod:
            load_incluster_config(client_configuration=configuration)
        else:
            load_kube_config(files, context, client_configuration=configuration, persist_config=False)
    except OSError as refused:
        raise Unreachable(f"{refused.filename or files} cannot be read: {refused.strerror}") from None
    except (ConfigException, KeyError, TypeError, ValueError, AttributeError, yaml.YAMLError) as wrong:
        message = " ".join(str(wrong).split())
        raise Unreachable(f"invalid kubeconfig {files}: {message}") from None
    return Connection(configuration, n_writers)


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
        client = ApiClient(configuration)
        client.user_agent = "apportion-scheduler"
        self._server = configuration.host
        # The kinds are fixed, so discovery and its cache are not needed.
        self._client = DynamicClient(client, discoverer=lambda _client, _cache: None)

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
            Unreachable: If it does not respond.
        """
        try:
            answer = self._send(method, path, body, content_type, timeout_s)
            document: dict[str, Any] = json.loads(answer.data)
        except (OSError, HTTPError) as failed:
            self.on_error(method, "unreachable")
            raise self._unreachable(failed) from None
        return document

    def lines(self, path: str, timeout_s: int) -> Iterator[dict[str, Any]]:
        """Yield the events of a watch until it ends.

        Raises:
            Refused: If the API server rejects the request.
            Unreachable: If it does not respond.
        """
        try:
            answer = self._send("GET", f"{path}&timeoutSeconds={timeout_s}", None, None, timeout_s + _GRACE_S)
            try:
                for line in iter_resp_lines(answer):
                    yield json.loads(line)
            finally:
                answer.close()
        except (OSError, HTTPError) as failed:
            self.on_error("GET", "unreachable")
            raise self._unreachable(failed) from None

    def _send(self, method: str, path: str, body: object, content_type: str | None, timeout_s: float) -> Any:
        try:
            return self._client.request(
                method, path, body, content_type=content_type, _request_timeout=timeout_s, serialize=False
            )
        except (DynamicApiError, ApiException) as refused:
            # An error without a status is not a response of the server.
            self.on_error(method, str(refused.status or "unreachable"))
            if not refused.status:
                raise self._unreachable(refused) from None
            raise _refusal(refused) from None

    def _unreachable(self, failed: Exception) -> Unreachable:
        return Unreachable(f"cannot reach {self._server}: {failed}")


def _refusal(refused: DynamicApiError | ApiException) -> Refused:
    status = int(refused.status or 0)
    after = (refused.headers or {}).get("Retry-After")
    return Refused(
        status,
        _said(refused),
        retry_after_s=float(after) if after is not None and after.isdigit() else None,
        is_budget=b"DisruptionBudget" in _content(refused),
    )


def _content(refused: DynamicApiError | ApiException) -> bytes:
    content = refused.body or b""
    return content if isinstance(content, bytes) else str(content).encode()


def _said(refused: DynamicApiError | ApiException) -> str:
    text = _content(refused).decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (KeyError, TypeError, ValueError):
        return text.strip()[:500] or str(refused.reason or HTTPStatus(refused.status).phrase)
