"""Idle client connections occupy no thread for long, and do not block other clients."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from contextlib import ExitStack

import pytest

from apportion_runtime.kube import http_server as serving
from apportion_runtime.kube.http_server import Counters, served


def _connected(stack: ExitStack, port: int) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))


def _answer(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
        return int(answer.status)


def test_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "IDLE_S", 0.05)
    with served(0, Counters()) as port, ExitStack() as stack:
        silent = [_connected(stack, port) for _ in range(8)]
        halfway = _connected(stack, port)
        halfway.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
        assert [client.recv(1) for client in (*silent, halfway)] == [b""] * 9
        assert _answer(port) == 200


def test_connections_are_bounded_and_the_longest_open_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 4)
    before = threading.active_count()
    with served(0, Counters()) as port, ExitStack() as stack:
        clients = [_connected(stack, port) for _ in range(12)]
        assert [client.recv(1) for client in clients[:7]] == [b""] * 7
        assert _answer(port) == 200
        deadline = time.monotonic() + 2
        while threading.active_count() > before + 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert threading.active_count() <= before + 6
