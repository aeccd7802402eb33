"""An HTTP proxy before the API server that injects faults: answers of its own, delays, lost responses, ended watches.

Watches are passed on as they arrive. Between client and proxy there is no TLS.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import urllib3
from tests.unit.runtime.kube.api_server import QuietServer

from ..control_plane import ControlPlane

_PASSED = ("Content-Type", "Authorization", "Accept", "User-Agent")
_N_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the client."""

    method: str
    path: str
    """Without the query."""
    query: str
    body: bytes = b""

    @property
    def bound_to(self) -> str:
        """The node of a bind."""
        return str(json.loads(self.body)["target"]["name"])

    @property
    def is_watch(self) -> bool:
        return "watch=1" in self.query

    @property
    def is_write(self) -> bool:
        return self.method != "GET" and "/leases" not in self.path

    @property
    def is_bind(self) -> bool:
        return self.path.endswith("/binding")


@dataclass(frozen=True, slots=True)
class Reaction:
    """What the proxy does with a request; by default, it passes it on.

    Attributes:
        status: The status of an answer of its own; the API server does not receive the request.
        reason: The reason in this answer.
        headers: The headers of this answer.
        page: The body of this answer, if it is not a status of Kubernetes.
        delay_s: The time for which the response of the API server is held.
        is_lost: Whether the response is never sent: the connection is closed instead.
    """

    status: int | None = None
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    page: bytes | None = None
    delay_s: float = 0.0
    is_lost: bool = False


PASS = Reaction()
Fault = Callable[[Request], Reaction]
"""Decides about one request; while it blocks, the request has not reached the API server."""


def none(_: Request) -> Reaction:
    """Pass all requests on."""
    return PASS


class FaultProxy:
    """A proxy on loopback; `fault` may be replaced at any time.

    Attributes:
        fault: Decides about each request.
        flow: While it is cleared, watches deliver nothing.
        stalled: The ending of the paths of these watches; all by default.
        port: The port of the proxy.
        n_injected: The number of requests that were not simply passed on.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.fault: Fault = none
        self.flow = threading.Event()
        self.flow.set()
        self.stalled = ""
        self.n_injected = 0
        self.upstream = urllib3.HTTPSConnectionPool(
            "127.0.0.1",
            plane.port,
            ca_certs=str(plane.folder / "cert.pem"),
            maxsize=_N_CONNECTIONS,
            retries=False,
        )
        self._watches: dict[_Watch, None] = {}
        self._lock = threading.Lock()
        self._server = QuietServer(("127.0.0.1", 0), _handler(self))
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def reaction(self, request: Request) -> Reaction:
        """Decide about a request, and count it if it is affected."""
        reaction = self.fault(request)
        if reaction != PASS:
            with self._lock:
                self.n_injected += 1
        return reaction

    def watching(self, watch: _Watch) -> None:
        with self._lock:
            self._watches[watch] = None

    def watched(self, watch: _Watch) -> None:
        with self._lock:
            self._watches.pop(watch, None)

    def drop_watches(self) -> int:
        """Cut the connections of all watches, in the middle of a line, and return their number."""
        return self._end(lambda watch: watch.cut(b'{"type": "MODIF'))

    def expire_watches(self) -> int:
        """End all watches with the error of an expired resource version, and return their number."""
        gone = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}
        return self._end(lambda watch: watch.finish(json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n"))

    def _end(self, end: Callable[[_Watch], None]) -> int:
        with self._lock:
            watches = list(self._watches)
        for watch in watches:
            end(watch)
        return len(watches)

    def close(self) -> None:
        self.drop_watches()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.upstream.close()


@contextlib.contextmanager
def fault_proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    """Run a proxy while the block runs."""
    proxy = FaultProxy(plane)
    try:
        yield proxy
    finally:
        proxy.close()


class _Watch:
    """An open watch, seen from the client."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self._lock = threading.Lock()
        self.is_over = False

    def send(self, data: bytes) -> None:
        with self._lock:
            if not self.is_over:
                self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def cut(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self.send(data)
            self._close()

    def finish(self, data: bytes = b"") -> None:
        with contextlib.suppress(OSError):
            if data:
                self.send(data)
            with self._lock:
                self._handler.wfile.write(b"0\r\n\r\n")
            self._close()

    def _close(self) -> None:
        with self._lock:
            self.is_over = True
            self._handler.connection.shutdown(socket.SHUT_RDWR)


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _respond(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(self.command, path, query, body)
            reaction = proxy.reaction(request)
            if reaction.status is not None:
                refused = {"kind": "Status", "code": reaction.status, "reason": reaction.reason}
                data = reaction.page or json.dumps({**refused, "message": f"injected: {reaction.reason}"}).encode()
                self._send(reaction.status, {"Content-Type": "application/json", **reaction.headers}, data)
                return
            try:
                self._forward(request, reaction)
            except (urllib3.exceptions.HTTPError, OSError):
                # As if the API server had closed the connection.
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond  # noqa: N815 - the names of the base class.

        def _forward(self, request: Request, reaction: Reaction) -> None:
            headers = {name: self.headers[name] for name in _PASSED if name in self.headers}
            answer = proxy.upstream.urlopen(
                request.method, self.path, request.body or None, headers, preload_content=False, timeout=None
            )
            try:
                if request.is_watch and answer.status == 200:
                    self._stream(request, answer)
                    return
                data = answer.read()
            finally:
                answer.close() if request.is_watch else answer.release_conn()
            time.sleep(reaction.delay_s)
            if reaction.is_lost:
                self.close_connection = True
                return
            kept = {name: value for name, value in answer.headers.items() if name in ("Content-Type", "Retry-After")}
            self._send(answer.status, kept, data)

        def _stream(self, request: Request, answer: urllib3.BaseHTTPResponse) -> None:
            self.close_connection = True
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            watch = _Watch(self)
            proxy.watching(watch)
            try:
                for data in answer.stream(amt=None):
                    if request.path.endswith(proxy.stalled):
                        proxy.flow.wait()
                    watch.send(data)
                    if watch.is_over:
                        return
                watch.finish()
            finally:
                proxy.watched(watch)

        def _send(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler
