"""Watches that end: they are opened again where they ended, or the objects are listed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apportion_runtime.kube import object_cache
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD

from .scheduler_thread import until
from .test_object_cache import PODS, Server, deliver, held, tell


class DroppedWatch(Server):
    """An API server whose first watch of pods fails after an event; it records the requests for pods."""

    def __init__(self, failure: Exception) -> None:
        super().__init__()
        self.failure: Exception | None = failure
        self.requests: list[str] = []

    def request(self, method: str, path: str, body: object = None, **said: Any) -> dict[str, Any]:
        if path.endswith(f"/{PODS}?limit=1"):
            self.requests.append("compare")
            return {"items": [self.pod], "metadata": {"resourceVersion": "7"}}
        if f"/{PODS}?" in path:
            self.requests.append("list")
        return super().request(method, path, body, **said)

    def lines(self, path: str, timeout_s: float) -> Iterator[dict[str, Any]]:
        if f"/{PODS}?" in path:
            self.requests.append(path.partition("resourceVersion=")[2])
            if (failure := self.failure) is not None:
                self.failure = None
                metadata = {**self.pod["metadata"], "resourceVersion": "7"}
                yield {"type": "MODIFIED", "object": {**self.pod, "metadata": metadata}}
                raise failure
        yield from super().lines(path, timeout_s)


@pytest.mark.parametrize(
    ("failure", "requests"),
    [
        (Unreachable("connection reset"), ["list", "1", "compare", "7"]),
        (Refused(503, "shutting down"), ["list", "1", "compare", "7"]),
        (Refused(410, "too old resource version"), ["list", "1", "list", "1"]),
    ],
    ids=["dropped", "unavailable", "expired"],
)
def test_watch_resumes_where_it_was_dropped_unless_its_version_has_expired(
    failure: Exception, requests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "_AGAIN_S", 0.01)
    server = DroppedWatch(failure)
    cache = ObjectCache(server)
    cache.start(60)
    try:
        until(lambda: len(server.requests) >= len(requests))
        assert server.requests == requests
        # The watch that was opened again delivers events.
        deliver(cache, server, {**server.pod, "metadata": {**server.pod["metadata"], "resourceVersion": "9"}})
    finally:
        cache.stop()
        server.close()


class InterruptedServer(Server):
    """An API server whose watches end without an error, and whose version the test sets."""

    version = "1"

    def request(self, method: str, path: str, body: object = None, **more: Any) -> dict[str, Any]:
        answer = super().request(method, path, body, **more)
        return {**answer, "metadata": {"resourceVersion": self.version}} if "items" in answer else answer

    def lines(self, path: str, _: float) -> Iterator[dict[str, Any]]:
        if f"/{PODS}?" not in path:
            self.closed.wait()
            raise Refused(410, "watch closed")
        while (event := self.events.get()) is not None:
            yield event


@pytest.mark.parametrize(("version", "is_listed_again"), [("8", True), ("9", False)])
def test_objects_are_listed_again_if_the_api_server_went_back(version: str, *, is_listed_again: bool) -> None:
    server, faults = InterruptedServer(), list[str]()
    cache = ObjectCache(server, on_fault=faults.append)
    cache.start(60)
    later = {**server.pod, "metadata": {**server.pod["metadata"], "resourceVersion": "9"}}
    try:
        tell(cache, server, "MODIFIED", later)
        server.version = version
        server.events.put(None)
        other = {"metadata": {"namespace": "vision", "name": "other", "uid": "2", "resourceVersion": "10"}, "spec": {}}
        server.events.put({"type": "ADDED", "object": other})
        until(lambda: cache.get(POD, "vision", "other") is not None)
        assert held(cache)["metadata"]["resourceVersion"] == ("1" if is_listed_again else "9")
        said = "pods: the API server reverted to an earlier state; relisting all objects"
        assert (said in faults) is is_listed_again
    finally:
        cache.stop()
        server.close()
