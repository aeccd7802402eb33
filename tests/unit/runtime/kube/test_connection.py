"""How the scheduler finds its API server, and talks to it: against a server on loopback."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import pytest
from urllib3.exceptions import InsecureRequestWarning

from apportion_runtime.kube.connection import Connection, connect
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.http_server import STUCK_S, Counters, served


class _Empty(BaseHTTPRequestHandler):
    """Has no objects."""

    seen: list[str] = []  # noqa: RUF012 - the class is one server's.

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization", ""))
        body = json.dumps({"message": "leases not found"}).encode()
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Suppress the request log."""


@pytest.fixture
def server() -> Iterator[str]:
    class Own(_Empty):
        seen: list[str] = []  # noqa: RUF012

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
        assert set(Own.seen) <= {"Bearer secret"}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def connection(server: str, tmp_path: Path) -> Connection:
    return connect(_kubeconfig(tmp_path, server, token="secret"))


def test_what_the_api_server_says_is_what_one_reads(connection: Connection) -> None:
    with pytest.raises(Refused, match="leases not found") as refused:
        connection.request("GET", "/apis")
    assert refused.value.status == 404


@pytest.mark.parametrize("body", ["<html>upstream not found</html>", "", "[]"], ids=["page", "empty", "list"])
def test_response_that_is_no_object_is_one_line_error(body: str, tmp_path: Path) -> None:
    class Page(_Empty):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) + 1))
            self.end_headers()
            self.wfile.write(f"{body}\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        connection = connect(_kubeconfig(tmp_path, f"http://127.0.0.1:{server.server_port}"))
        failed: list[str] = []
        connection.on_error = lambda method, code: failed.append(code)
        with pytest.raises(Unreachable, match="the response is not a JSON object"):
            connection.request("GET", "/api/v1/pods")
        if body:
            with pytest.raises(Unreachable, match="the response is not a JSON object"):
                list(connection.lines("/api/v1/pods?watch=1", 1))
        assert set(failed) == {"unreachable"}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_unreachable_server_is_one_line_error(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"cannot reach http://127.0.0.1:1: "):
        connect(_kubeconfig(tmp_path, "http://127.0.0.1:1")).request("GET", "/")


def test_disabled_tls_verification_is_recorded_without_warning_per_request(tmp_path: Path) -> None:
    file = tmp_path / "config"
    _kubeconfig(tmp_path, "https://127.0.0.1:1", token="secret")
    verified = connect(str(file))
    document = json.loads(file.read_text())
    document["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    file.write_text(json.dumps(document))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        unverified = connect(str(file))
        # As urllib3 does for each connection.
        warnings.warn("unverified HTTPS request", InsecureRequestWarning, stacklevel=1)
    assert (verified.is_verified, unverified.is_verified) == (True, False)
    assert warned == []


def _kubeconfig(folder: Path, server: str, **user: object) -> str:
    file = folder / "config"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
    }
    file.write_text(json.dumps(document))
    return str(file)


def _exec(folder: Path) -> dict[str, object]:
    """A login by a program, as managed clusters want it."""
    program = folder / "login"
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "secret"},
    }
    program.write_text(f"#!/bin/sh\necho '{json.dumps(credential)}'\n")
    program.chmod(0o755)
    return {"apiVersion": credential["apiVersion"], "command": str(program), "interactiveMode": "Never"}


@pytest.mark.parametrize("way", ["token", "tokenFile", "exec"])
def test_credentials_of_kubeconfig_are_sent(way: str, server: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    user = {"token": "secret", "tokenFile": str(tmp_path / "token"), "exec": _exec(tmp_path)}[way]
    with pytest.raises(Refused, match="leases not found"):
        connect(_kubeconfig(tmp_path, f"{server}/base", **{way: user})).request("GET", "/apis")


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        ("/no/login", "No such file or directory: '/no/login'"),
        ("/bin/false", "exec: process returned 1"),
        ("/bin/echo", "exec: failed to decode process output"),
    ],
)
def test_failing_login_program_is_one_line_error(
    plugin: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    login = {"apiVersion": "client.authentication.k8s.io/v1", "command": plugin, "interactiveMode": "Never"}
    with pytest.raises(Unreachable, match=said) as told:
        connect(_kubeconfig(tmp_path, "http://127.0.0.1:1", exec=login))
    assert str(told.value).startswith(f"kubeconfig {tmp_path / 'config'}: ")
    assert "\n" not in str(told.value)
    assert capsys.readouterr().err == ""


def test_login_program_that_fails_later_is_reported_with_the_request(server: str, tmp_path: Path) -> None:
    login = _exec(tmp_path)
    program = Path(str(login["command"]))
    program.write_text(
        program.read_text().replace('"secret"', '"secret", "expirationTimestamp": "2000-01-01T00:00:00Z"')
    )
    connection = connect(_kubeconfig(tmp_path, f"{server}/base", exec=login))
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(Unreachable, match="exec: process returned 3"):
        connection.request("GET", "/apis")


@pytest.mark.parametrize(
    ("address", "said"), [("not a url", "not a URL (not a url): Failed to parse"), ("", "not a URL (none): No host")]
)
def test_server_that_is_no_url_is_one_line_error(address: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as told:
        connect(_kubeconfig(tmp_path, address))
    assert said in str(told.value)


def test_kubeconfig_variable_selects_file(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", _kubeconfig(tmp_path, server, token="secret"))
    with pytest.raises(Refused, match="leases not found"):
        connect(None).request("GET", "/apis")


@pytest.mark.parametrize(
    ("text", "context", "said"),
    [
        (None, None, "does not exist; pass --kubeconfig FILE"),
        ("", None, "^invalid kubeconfig "),
        ("- a", None, "^invalid kubeconfig "),
        ("{", None, "^invalid kubeconfig "),
        ("contexts: 3", None, "^invalid kubeconfig "),
        ("hello", None, "^invalid kubeconfig .*: it must be a mapping with lists of clusters, users and contexts$"),
        ("whole", "two", "has no context two; its contexts: one$"),
        ("none selected", None, "has no current-context; pass --context with one of: one$"),
    ],
)
def test_unusable_kubeconfig_is_one_line_error(
    text: str | None, context: str | None, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    if text in ("whole", "none selected"):
        _kubeconfig(tmp_path, "http://127.0.0.1:8001", token="a")
        if text == "none selected":
            file.write_text(json.dumps({**json.loads(file.read_text()), "current-context": ""}))
    elif text is not None:
        file.write_text(text)
    with pytest.raises(Unreachable, match=said) as told:
        connect(str(file), context)
    assert str(file) in str(told.value)
    assert "\n" not in str(told.value)


def test_counters_and_readiness_are_served_over_http() -> None:
    counters = Counters()
    counters.metrics.cycle_duration.observe(0.02)
    counters.metrics.leader.set(1)
    with served(0, counters) as port:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        assert 'apportion_scheduler_cycle_duration_seconds_bucket{le="0.025"} 1.0\n' in text
        assert "apportion_scheduler_leader 1.0\n" in text
        with pytest.raises(OSError, match="503"):
            urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10)
        counters.is_ready = True
        counters.alive_at -= STUCK_S
        with pytest.raises(OSError, match="503"):
            urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10)
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            assert answer.status == 200
