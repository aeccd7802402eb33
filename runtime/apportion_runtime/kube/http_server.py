"""The HTTP server of the scheduler: health and readiness probes, and Prometheus metrics.

Connections have a timeout and a maximum number, so that slow or idle clients cannot exhaust threads or block the
kubelet's probes.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from apportion_runtime.kube.metrics import Metrics

STUCK_S = 120.0
"""The health check fails if no cycle has completed for this long."""

IDLE_S = 10.0
"""The timeout after which an idle connection is closed."""
MOST_CONNECTIONS = 64
"""The maximum number of connections; beyond it, the oldest one is closed."""


@dataclass(slots=True, eq=False)
class Counters:
    """The state of the scheduler. Written by one thread, read by others."""

    is_leader: bool = False
    is_ready: bool = False
    fault: Callable[[], str | None] = lambda: None
    """Returns why a scheduler that was ready is not any more."""
    alive_at: float = field(default_factory=time.monotonic)
    metrics: Metrics = field(default_factory=Metrics)


class _Server(ThreadingHTTPServer):
    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        super().__init__(("", port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open[request] = None
            longest = next(iter(self._open)) if len(self._open) > MOST_CONNECTIONS else None
        if longest is not None:
            with suppress(OSError):
                longest.shutdown(socket.SHUT_RDWR)
            with self._lock:
                self._open.pop(longest, None)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that disconnects is not an error of the scheduler.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def served(port: int, counters: Counters) -> Iterator[int]:
    """Serve on a port (0 chooses a free one) while the block runs, and yield the port.

    Raises:
        OSError: If the port is not available.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_S

        def do_GET(self) -> None:
            status, text = HTTPStatus.OK, "ok\n"
            if self.path == "/metrics":
                text = generate_latest(counters.metrics.registry).decode()
            elif self.path == "/readyz" and not counters.is_ready:
                status, text = HTTPStatus.SERVICE_UNAVAILABLE, "the initial list of cluster objects is not complete\n"
            elif self.path == "/readyz" and (fault := counters.fault()) is not None:
                status, text = HTTPStatus.SERVICE_UNAVAILABLE, f"{fault}\n"
            elif self.path == "/healthz" and time.monotonic() - counters.alive_at >= STUCK_S:
                status, text = HTTPStatus.SERVICE_UNAVAILABLE, f"no cycle has completed in the last {STUCK_S:g} s\n"
            elif self.path not in ("/healthz", "/readyz"):
                status, text = HTTPStatus.NOT_FOUND, "not found; available paths are /healthz, /readyz and /metrics\n"
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE_LATEST if self.path == "/metrics" else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Do not log requests."""

    server = _Server(port, Handler)
    thread = threading.Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
