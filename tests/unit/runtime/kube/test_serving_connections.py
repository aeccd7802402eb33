"""Idle client connections occupy no thread for long, and do not block other clients."""

from __future__ import annotations

import socket
import threading
import urllib.request
from contextlib import ExitStack, suppress

import pytest

from apportion_runtime.kube import http_server as serving
from apportion_runtime.kube.http_server import Counters, served

from .scheduler_thread import until


def _connected(stack: ExitStack, port: int) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))


def _answer(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
        return int(answer.status)


def _is_answered(port: int) -> bool:
    """Return whether a request is answered; its client may be slow enough to be idle itself."""
    with suppress(OSError):
        return _answer(port) == 200
    return False


def _received(client: socket.socket) -> bytes:
    """Return the next byte, or none if the server has closed the connection, also before it read everything."""
    with suppress(ConnectionResetError):
        return client.recv(1)
    return b""


def test_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "IDLE_S", 0.05)
    with served(0, Counters()) as port, ExitStack() as stack:
        silent = [_connected(stack, port) for _ in range(8)]
        halfway = _connected(stack, port)
        with suppress(ConnectionError):
            halfway.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
        assert [_received(client) for client in (*silent, halfway)] == [b""] * 9
        until(lambda: _is_answered(port))


def test_connections_are_bounded_and_the_longest_open_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 4)
    before = threading.active_count()
    with served(0, Counters()) as port, ExitStack() as stack:
        clients = [_connected(stack, port) for _ in range(12)]
        assert [client.recv(1) for client in clients[:7]] == [b""] * 7
        assert _answer(port) == 200
        until(lambda: threading.active_count() <= before + 6)
