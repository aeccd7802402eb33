"""An API server in this process: lists, watches, writes with versions, bindings and evictions. It decides nothing else."""

from __future__ import annotations

import copy
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes.client import Configuration

from apportion_api.kubernetes.names import REGION_LABEL, ZONE_LABEL
from apportion_runtime.kube.connection import Connection

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rejection:
    """A response other than success; `details` are those of its `Status`. With status 0, there is no response."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as the server received it; `path` has no query, and `client` is the name of the connection.

    A dry run stores nothing.
    """

    method: str
    path: str
    body: Any
    client: str = ""
    is_dry_run: bool = False


class ApiServer:
    """Objects by path, as `/api/v1/namespaces/team/pods/a`, and everything that happened to them.

    `answer` may reject a request before it has an effect.
    """

    def __init__(self) -> None:
        self.held: dict[str, Object] = {}
        self.sent: list[Sent] = []
        self.answer: Callable[[Sent], Rejection | None] = lambda sent: None
        self.version = 0
        self.is_closed = False
        # Kinds whose definition was deleted, by plural.
        self.undefined: set[str] = set()
        self._history: list[tuple[int, str, str, Object]] = []
        # How much of the history each open watch has read.
        self._read: dict[int, int] = {}
        self._watches = itertools.count()
        self.changed = threading.Condition()

    def put(self, path: str, made: Object, event: str = "ADDED") -> Object:
        """Store an object, and have watches report it."""
        with self.changed:
            self.version += 1
            metadata = {"uid": f"uid-{self.version}", **made["metadata"], "resourceVersion": str(self.version)}
            made = {**made, "metadata": metadata}
            self.held[path] = made
            self._record(path, event, made)
        return made

    def remove(self, path: str) -> None:
        """Delete an object."""
        with self.changed:
            self.version += 1
            self._record(path, "DELETED", self.held.pop(path))

    def undefine(self, plural: str) -> None:
        """Delete the definition of a kind: first its objects, then its path; its watches end."""
        for path in [path for path in self.held if _plural(path) == plural]:
            self.remove(path)
        with self.changed:
            self.undefined.add(plural)
            self.changed.notify_all()

    def define(self, plural: str) -> None:
        """Restore the definition of a kind."""
        with self.changed:
            self.undefined.discard(plural)

    def add(self, *objects: Object) -> None:
        """Store objects of the kinds that the scheduler reads."""
        for one in objects:
            self.put(path_of(one), copy.deepcopy(one))

    def pod(self, name: str, namespace: str = "team") -> Object:
        """Return a pod as it is stored."""
        return self.held[f"/api/v1/namespaces/{namespace}/pods/{name}"]

    def written(self, method: str, ending: str) -> list[Sent]:
        """Return the requests with a method, and a path with an ending."""
        return [one for one in self.sent if one.method == method and one.path.endswith(ending)]

    def events(self, plural: str, after: int) -> Iterator[tuple[int, str, Object]]:
        """Yield the events of a kind, as they come, until the server closes."""
        with self.changed:
            watch, at = next(self._watches), 0
            self._read[watch] = at
        try:
            while True:
                with self.changed:
                    while len(self._history) == at and not self.is_closed and plural not in self.undefined:
                        self.changed.wait()
                    if self.is_closed or (len(self._history) == at and plural in self.undefined):
                        return
                    fresh, at = self._history[at:], len(self._history)
                    self._read[watch] = at
                for version, path, event, made in fresh:
                    if version > after and _plural(path) == plural:
                        yield version, event, made
        finally:
            with self.changed:
                del self._read[watch]

    def close(self) -> None:
        """End all watches."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def forget_history(self) -> None:
        """Drop the requests, and the events that every open watch has read."""
        with self.changed:
            self.sent.clear()
            n_read = min(self._read.values(), default=0)
            self._history[:n_read] = [(0, "", "", {})] * n_read

    def _record(self, path: str, event: str, made: Object) -> None:
        self._history.append((self.version, path, event, made))
        self.changed.notify_all()

    def handle(self, sent: Sent) -> tuple[int, Mapping[str, str], Object]:
        """Carry out a request other than a watch."""
        with self.changed:
            self.sent.append(sent)
        rejected = self.answer(sent)
        if rejected is not None:
            status = {"message": rejected.message, "details": dict(rejected.details)}
            return rejected.status, dict(rejected.headers), status
        with self.changed:
            return self._handle(sent)

    def _handle(self, sent: Sent) -> tuple[int, Mapping[str, str], Object]:
        parent, _, last = sent.path.rpartition("/")
        if self.undefined & {last, _plural(sent.path)}:
            return 404, {}, {"message": "the server could not find the requested resource"}
        match sent.method:
            case "GET" if sent.path in self.held:
                return 200, {}, self.held[sent.path]
            case "GET" if last.endswith("s") and not parent.endswith("s"):
                named = [made for path, made in self.held.items() if _plural(path) == last]
                return 200, {}, {"items": named, "metadata": {"resourceVersion": str(self.version)}}
            case "POST" if last in ("binding", "eviction"):
                return self._act(parent, last, sent.body)
            case "POST":
                path = f"{sent.path}/{sent.body['metadata']['name']}"
                if path in self.held:
                    return 409, {}, {"message": "already exists"}
                if sent.is_dry_run:
                    return 201, {}, sent.body
                return 201, {}, self.put(path, sent.body)
        path = parent if last == "status" else sent.path
        held = self.held.get(path)
        if held is None:
            return 404, {}, {"message": f"{last} not found"}
        if sent.method == "DELETE":
            self.remove(path)
            return 200, {}, held
        version = sent.body["metadata"].get("resourceVersion") if "metadata" in sent.body else None
        if version not in (None, held["metadata"]["resourceVersion"]):
            return 409, {}, {"message": "the object has been modified"}
        made = sent.body if sent.method == "PUT" else merged(held, sent.body)
        return 200, {}, self.put(path, made, "MODIFIED")

    def _act(self, path: str, action: str, body: Object) -> tuple[int, Mapping[str, str], Object]:
        pod = self.held.get(path)
        if pod is None:
            return 404, {}, {"message": "pod not found"}
        uid = body["metadata"].get("uid") or body.get("deleteOptions", {}).get("preconditions", {}).get("uid")
        if uid not in (None, pod["metadata"]["uid"]):
            return 409, {}, {"message": "the uid of the pod is another"}
        if action == "eviction":
            if "dryRun" not in body["deleteOptions"]:
                self.remove(path)
        elif pod["spec"].get("nodeName"):
            return 409, {}, {"message": "the pod is already assigned to a node"}
        else:
            self._bind(path, pod, body["target"]["name"])
        return 201, {}, {"status": "Success"}

    def _bind(self, path: str, pod: Object, node: str) -> None:
        labels = self.held.get(f"/api/v1/nodes/{node}", {"metadata": {}})["metadata"].get("labels") or {}
        copied = {key: value for key, value in labels.items() if key in (ZONE_LABEL, REGION_LABEL)}
        bound = merged(pod, {"spec": {"nodeName": node}, **({"metadata": {"labels": copied}} if copied else {})})
        self.put(path, bound, "MODIFIED")


def _plural(path: str) -> str:
    return path.rsplit("/", 2)[-2] if path else ""


def path_of(made: Object) -> str:
    """Return the path of an object."""
    plural = {"PriorityClass": "priorityclasses", "Topology": "topologies"}.get(
        made["kind"], made["kind"].lower() + "s"
    )
    root = f"/apis/{made['apiVersion']}" if "/" in made["apiVersion"] else f"/api/{made['apiVersion']}"
    namespace = made["metadata"].get("namespace")
    return f"{root}{f'/namespaces/{namespace}' if namespace else ''}/{plural}/{made['metadata']['name']}"


def merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> Object:
    """Return an object after a patch: null removes, conditions are merged by type."""
    made = dict(before)
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        elif key == "conditions":
            fresh = {one["type"]: one for one in (*made.get(key, ()), *value)}
            made[key] = list(fresh.values())
        else:
            made[key] = merged(made.get(key) or {}, value) if isinstance(value, dict) else value
    return made


def _page(document: Object, query: Mapping[str, list[str]]) -> Object:
    """Return the requested page of a list; the token of the next page is where it begins."""
    if "limit" not in query or "items" not in document:
        return document
    first = int(query.get("continue", ["0"])[0])
    end = first + int(query["limit"][0])
    more = {"continue": str(end)} if end < len(document["items"]) else {}
    return {**document, "items": document["items"][first:end], "metadata": {**document["metadata"], **more}}


def _handler(server: ApiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _respond(self) -> None:
            url = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            query = parse_qs(url.query)
            if "watch" in query:
                self._watch(url.path.rpartition("/")[2], int(query["resourceVersion"][0]))
                return
            status, headers, document = server.handle(
                Sent(self.command, url.path, body, self.headers.get("X-Client", ""), "dryRun" in query)
            )
            if status == 0:
                self.close_connection = True
                return
            data = json.dumps(_page(document, query)).encode()
            lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(data)}"]
            lines += [f"{key}: {value}" for key, value in headers.items()]
            self.wfile.write("\r\n".join((*lines, "", "")).encode() + data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond  # noqa: N815 - the names of the base class.

        def _watch(self, plural: str, after: int) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for _, event, made in server.events(plural, after):
                line = json.dumps({"type": event, "object": made}).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler


class QuietServer(ThreadingHTTPServer):
    """Serves each connection in a thread, and does not report clients that disconnect."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnects is not an error."""


@contextmanager
def listening(server: ApiServer) -> Iterator[int]:
    """Serve on loopback while the block runs, and yield the port."""
    http = QuietServer(("127.0.0.1", 0), _handler(server))
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield http.server_port
    finally:
        server.close()
        http.shutdown()
        http.server_close()
        thread.join()


@contextmanager
def serving(server: ApiServer) -> Iterator[Callable[[str], Connection]]:
    """Serve on loopback while the block runs, and yield a function that opens a connection with a name."""
    with listening(server) as port:
        yield lambda client: connection_to(port, client)


@contextmanager
def running(server: ApiServer) -> Iterator[Connection]:
    """Serve on loopback while the block runs, and yield a connection to it."""
    with serving(server) as connect:
        yield connect("")


def connection_to(port: int, client: str) -> Connection:
    """Return a connection to a port on loopback."""
    configuration = Configuration()
    configuration.host = f"http://127.0.0.1:{port}"
    connection = Connection(configuration)
    connection.headers["X-Client"] = client
    return connection
