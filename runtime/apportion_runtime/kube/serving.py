"""What the scheduler tells others over HTTP: whether it is alive and ready, and its counters for Prometheus."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

STUCK_S = 120.0
"""After which a turn that does not end makes the scheduler unwell."""


@dataclass(slots=True, eq=False)
class Counters(Collector):
    """What happened since the start. Written by one thread, read by others."""

    turns: int = 0
    bound: int = 0
    evicted: int = 0
    refused: int = 0
    waiting: int = 0
    seconds: float = 0.0
    is_leader: bool = False
    is_ready: bool = False
    alive_at: float = field(default_factory=time.monotonic)

    def collect(self) -> Iterator[Metric]:
        counted = (
            ("turns", "Turns taken", self.turns),
            ("pods_bound", "Pods given a node", self.bound),
            ("pods_evicted", "Pods taken back", self.evicted),
            ("writes_refused", "Writes that the API server did not take", self.refused),
            ("turn_seconds", "Time spent in turns", self.seconds),
        )
        for name, meaning, value in counted:
            yield CounterMetricFamily(f"apportion_scheduler_{name}", meaning, value)
        yield GaugeMetricFamily(
            "apportion_scheduler_pods_waiting", "Pods that the last turn left waiting", self.waiting
        )
        yield GaugeMetricFamily("apportion_scheduler_leader", "Whether it holds the lease", int(self.is_leader))


@contextmanager
def served(port: int, counters: Counters) -> Iterator[int]:
    """Answer on a port (0 chooses one) while the block runs, and give the port.

    Raises:
        OSError: If the port cannot be had.
    """
    registry = CollectorRegistry()
    registry.register(counters)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = HTTPStatus.OK, "ok\n"
            if self.path == "/metrics":
                text = generate_latest(registry).decode()
            elif self.path == "/readyz" and not counters.is_ready:
                status, text = HTTPStatus.SERVICE_UNAVAILABLE, "not listed yet\n"
            elif self.path == "/healthz" and time.monotonic() - counters.alive_at >= STUCK_S:
                status, text = HTTPStatus.SERVICE_UNAVAILABLE, f"no turn has ended for {STUCK_S:g} s\n"
            elif self.path not in ("/healthz", "/readyz"):
                status, text = HTTPStatus.NOT_FOUND, "there are /healthz, /readyz and /metrics\n"
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE_LATEST if self.path == "/metrics" else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing of a request."""

    server = ThreadingHTTPServer(("", port), Handler)
    thread = threading.Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
