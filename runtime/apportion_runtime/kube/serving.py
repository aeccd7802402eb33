"""What the scheduler tells others over HTTP: whether it is alive and ready, and its counters for Prometheus."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STUCK_S = 120.0
"""After which a turn that does not end makes the scheduler unwell."""


@dataclass(slots=True)
class Counters:
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

    def text(self) -> str:
        """Return them in Prometheus' format."""
        counters = {
            "turns_total": self.turns,
            "pods_bound_total": self.bound,
            "pods_evicted_total": self.evicted,
            "writes_refused_total": self.refused,
            "turn_seconds_total": self.seconds,
        }
        gauges = {"pods_waiting": self.waiting, "leader": int(self.is_leader)}
        lines = [
            f"# TYPE apportion_scheduler_{name} {kind}\napportion_scheduler_{name} {value}\n"
            for kind, found in (("counter", counters), ("gauge", gauges))
            for name, value in found.items()
        ]
        return "".join(lines)


@contextmanager
def served(port: int, counters: Counters) -> Iterator[int]:
    """Answer on a port (0 chooses one) while the block runs, and give the port.

    Raises:
        OSError: If the port cannot be had.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = HTTPStatus.OK, "ok\n"
            if self.path == "/metrics":
                text = counters.text()
            elif self.path == "/readyz" and not counters.is_ready:
                status, text = HTTPStatus.SERVICE_UNAVAILABLE, "not listed yet\n"
            elif self.path == "/healthz" and time.monotonic() - counters.alive_at >= STUCK_S:
                status, text = HTTPStatus.SERVICE_UNAVAILABLE, f"no turn has ended for {STUCK_S:g} s\n"
            elif self.path not in ("/healthz", "/readyz"):
                status, text = HTTPStatus.NOT_FOUND, "there are /healthz, /readyz and /metrics\n"
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
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
