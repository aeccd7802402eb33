"""What the scheduler holds of its cluster between a write and what the watch tells of it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apportion_runtime.kube.api_writer import ApiWriter, SingleScheduler
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Unreachable
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD, WATCHED

from .scheduler_thread import until

PODS = WATCHED[POD].plural


class Server(Connection):
    """An API server with one pod; a test says what happens during a write, and tells watches of it."""

    def __init__(self) -> None:
        self.during: Callable[[str], None] = lambda method: None
        self.events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.closed = threading.Event()
        self.is_gone = False
        self.pod: dict[str, Any] = {
            "metadata": {"namespace": "vision", "name": "work", "uid": "1", "resourceVersion": "1"},
            "spec": {},
        }

    def request(self, method: str, path: str, body: object = None, **_: Any) -> dict[str, Any]:
        if method == "GET" and "?" not in path:
            if self.is_gone:
                raise Refused(404, "pods not found")
            read = self.pod
            self.during(method)
            return read
        if method == "GET":
            items = [self.pod] if f"/{PODS}?" in path else []
            return {"items": items, "metadata": {"resourceVersion": "1"}}
        self.during(method)
        return self.pod

    def lines(self, path: str, _: float) -> Iterator[dict[str, Any]]:
        if f"/{PODS}?" in path:
            while (event := self.events.get()) is not None:
                yield event
        else:
            # Another list would start a cycle.
            self.closed.wait()
        raise Refused(410, "watch closed")

    def close(self) -> None:
        """End all watches."""
        self.closed.set()
        self.events.put(None)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def cache(server: Server) -> Iterator[ObjectCache]:
    cache = ObjectCache(server)
    cache.start(60)
    yield cache
    cache.stop()
    server.close()


@pytest.fixture
def cluster(cache: ObjectCache, server: Server) -> LiveCluster:
    return LiveCluster(cache, ApiWriter(server, SingleScheduler()))


def test_start_ends_early_if_the_process_is_asked_to_end() -> None:
    class UnreachableServer(Server):
        def request(self, method: str, path: str, body: object = None, **_: Any) -> dict[str, Any]:
            raise Unreachable("cannot reach the API server")

    ended = threading.Event()
    ended.set()
    cache = ObjectCache(UnreachableServer())
    cache.start(3600, ended)
    cache.stop()


def held(cache: ObjectCache) -> Any:
    return cache.get(POD, "vision", "work")


def tell(cache: ObjectCache, server: Server, type_: str, pod: dict[str, Any]) -> None:
    """Have the watch tell of a pod, and return once the cache has heard."""
    server.events.put({"type": type_, "object": pod})
    until(lambda: held(cache) == (None if type_ == "DELETED" else pod))


def test_evicted_pod_is_removed_before_the_watch_event(cache: ObjectCache, cluster: LiveCluster) -> None:
    cluster.evict(held(cache))
    assert "deletionTimestamp" in held(cache)["metadata"]


def test_immediately_deleted_pod_does_not_reappear(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    server.during = lambda method: tell(cache, server, "DELETED", server.pod) if method == "POST" else None
    cluster.evict(held(cache))
    assert held(cache) is None


def test_immediately_deleted_object_is_not_kept_if_its_events_precede_the_response_of_its_creation(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    tell(cache, server, "DELETED", server.pod)
    created = {**server.pod, "apiVersion": "v1", "kind": POD}
    server.pod = {**created, "metadata": {**created["metadata"], "uid": "2", "resourceVersion": "2"}}
    deleted = {**server.pod, "metadata": {**server.pod["metadata"], "resourceVersion": "3"}}

    def delete(_: str) -> None:
        tell(cache, server, "ADDED", server.pod)
        tell(cache, server, "DELETED", deleted)

    server.during = delete
    cluster.create(created)
    assert held(cache) is None


def test_bound_pod_has_its_node_before_the_watch_event(cache: ObjectCache, cluster: LiveCluster) -> None:
    cluster.bind(held(cache), "node-1")
    assert held(cache)["spec"]["nodeName"] == "node-1"


def test_another_pod_of_the_name_is_not_taken_for_the_bound_one(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    other = {**server.pod, "metadata": {**server.pod["metadata"], "uid": "2", "resourceVersion": "3"}}
    server.during = lambda method: tell(cache, server, "ADDED", other)
    cluster.bind(held(cache), "node-1")
    assert held(cache) == other


def test_watch_events_during_a_change_are_kept(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    newer = {**server.pod, "metadata": {**server.pod["metadata"], "resourceVersion": "9"}}
    server.during = lambda method: tell(cache, server, "MODIFIED", newer)
    cluster.merge(POD, "vision", "work", {"metadata": {"annotations": {"pod-group-name": "work"}}})
    assert held(cache) == newer


def test_earlier_event_during_a_change_is_not_kept(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    server.pod, older = _version(server, "9"), _version(server, "2", labels={"other": "1"})
    server.during = lambda method: tell(cache, server, "MODIFIED", older)
    cluster.merge(POD, "vision", "work", {})
    assert held(cache) == server.pod


def test_changed_pod_is_cached_as_stored(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    server.pod = {**server.pod, "metadata": {**server.pod["metadata"], "resourceVersion": "2"}}
    cluster.merge(POD, "vision", "work", {"metadata": {"annotations": {"pod-group-name": "work"}}})
    assert held(cache) == server.pod


def test_earlier_change_does_not_undo_binding(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    cluster.bind(held(cache), "node-1")
    labelled = {**server.pod, "metadata": {**server.pod["metadata"], "labels": {"seen": "before"}}}
    server.events.put({"type": "MODIFIED", "object": labelled})
    until(lambda: "labels" in held(cache)["metadata"])
    assert held(cache)["spec"]["nodeName"] == "node-1"


def test_confirmed_binding_is_no_longer_assumed(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    cluster.bind(held(cache), "node-1")
    tell(cache, server, "MODIFIED", {**server.pod, "spec": {"nodeName": "node-1"}})
    unbound = {**server.pod, "spec": {}}
    tell(cache, server, "MODIFIED", unbound)
    assert held(cache) == unbound


def test_uncertain_binding_is_verified(cache: ObjectCache, server: Server) -> None:
    cache.assume_bound(held(cache), "node-1", is_certain=False)
    assert held(cache)["spec"]["nodeName"] == "node-1"
    cache.verify()
    assert held(cache)["spec"] == {}


def test_deleted_pod_is_removed_when_binding_is_verified(cache: ObjectCache, server: Server) -> None:
    cache.assume_bound(held(cache), "node-1", is_certain=False)
    server.is_gone = True
    cache.verify()
    assert held(cache) is None


def test_verification_does_not_undo_what_the_watch_delivers_meanwhile(cache: ObjectCache, server: Server) -> None:
    metadata = {**server.pod["metadata"], "resourceVersion": "2"}
    bound = {"metadata": metadata, "spec": {"nodeName": "node-1"}}
    cache.assume_bound(held(cache), "node-1", is_certain=False)
    server.during = lambda _: deliver(cache, server, bound)
    cache.verify()
    assert held(cache)["spec"] == {"nodeName": "node-1"}


def deliver(cache: ObjectCache, server: Server, pod: dict[str, Any]) -> None:
    server.events.put({"type": "MODIFIED", "object": pod})
    until(lambda: held(cache)["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"])


def deliver_stale(server: Server, pod: dict[str, Any]) -> None:
    """Deliver a version that the cache has, or that is earlier; it is handled before any later event."""
    server.events.put({"type": "MODIFIED", "object": pod})


def _version(server: Server, version: str, **metadata: Any) -> dict[str, Any]:
    return {**server.pod, "metadata": {**server.pod["metadata"], "resourceVersion": version, **metadata}}


def _starts_cycle(cache: ObjectCache, server: Server) -> bool:
    """Return whether a cycle starts, once the watch has handled all events."""
    known = held(cache)
    deliver(cache, server, {**known, "metadata": {**known["metadata"], "resourceVersion": "9"}})
    return cache.changed.is_set()


def _label(cluster: LiveCluster) -> None:
    cluster.merge(POD, "vision", "work", {"metadata": {"labels": {"own": "1"}}})


def test_own_patch_starts_no_cycle_if_its_event_precedes_its_response(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    server.pod = _version(server, "2", labels={"own": "1"})
    server.during = lambda _: deliver(cache, server, server.pod)
    cache.changed.clear()
    _label(cluster)
    assert not _starts_cycle(cache, server)


def test_change_by_another_client_during_an_own_patch_starts_a_cycle(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    changed, server.pod = _version(server, "2", labels={"other": "1"}), _version(server, "3", labels={"own": "1"})

    def deliver_both(method: str) -> None:
        deliver(cache, server, changed)
        deliver(cache, server, server.pod)

    server.during = deliver_both
    cache.changed.clear()
    _label(cluster)
    assert _starts_cycle(cache, server)


def test_own_bind_starts_no_cycle_if_its_event_precedes_its_response(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    server.during = lambda _: deliver(cache, server, {**_version(server, "2"), "spec": {"nodeName": "node-1"}})
    cache.changed.clear()
    cluster.bind(held(cache), "node-1")
    assert not _starts_cycle(cache, server)


@pytest.mark.parametrize("made", [{"nodeName": "node-2"}, {"nodeName": "node-1", "priority": 1}])
def test_event_other_than_the_expected_one_of_a_bind_starts_a_cycle(
    made: dict[str, Any], cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    server.during = lambda _: deliver(cache, server, {**_version(server, "2"), "spec": made})
    cache.changed.clear()
    cluster.bind(held(cache), "node-1")
    assert _starts_cycle(cache, server)


def test_event_during_a_rejected_write_starts_a_cycle(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    def reject(method: str) -> None:
        if method == "POST":
            deliver(cache, server, {**_version(server, "2"), "spec": {"nodeName": "node-1"}})
            raise Refused(403, "forbidden")

    server.during = reject
    cache.changed.clear()
    with pytest.raises(Refused):
        cluster.bind(held(cache), "node-1")
    assert _starts_cycle(cache, server)


def test_parallel_own_patches_of_an_object_start_no_cycle(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    first, second = _version(server, "2", labels={"own": "1"}), _version(server, "3", labels={"own": "1", "two": "2"})

    def patch_again(method: str) -> None:
        server.during = lambda _: None
        server.pod = first
        _label(cluster)
        server.pod = second

    server.during = patch_again
    cache.changed.clear()
    _label(cluster)
    deliver(cache, server, second)
    assert not _starts_cycle(cache, server)


@pytest.mark.parametrize("n_own", [1, 2])
def test_change_by_another_client_just_before_an_own_patch_starts_a_cycle_if_its_event_follows_the_response(
    n_own: int, cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    changed = _version(server, "2", labels={"other": "1"})
    own = [_version(server, version, labels={"other": "1", "own": version}) for version in ("3", "4")[:n_own]]
    cache.changed.clear()
    for server.pod in own:
        _label(cluster)
    assert not cache.changed.is_set()
    for event in (changed, *own):
        deliver_stale(server, event)
    assert _starts_cycle(cache, server)


def test_heartbeat_just_before_an_own_patch_starts_no_cycle_if_its_event_follows_the_response(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    beat = {**_version(server, "2"), "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    server.pod = {**_version(server, "3", labels={"own": "1"}), "status": beat["status"]}
    cache.changed.clear()
    _label(cluster)
    deliver_stale(server, beat)
    deliver_stale(server, server.pod)
    assert not _starts_cycle(cache, server)


def test_change_that_is_first_read_starts_a_cycle_with_its_event(cache: ObjectCache, server: Server) -> None:
    server.pod = _version(server, "2", labels={"other": "1"})
    cache.read_again(POD, "vision", "work")
    cache.changed.clear()
    server.events.put({"type": "MODIFIED", "object": server.pod})
    assert _starts_cycle(cache, server)


def test_parallel_own_patches_start_no_cycle_if_the_events_follow_the_later_response(
    cache: ObjectCache, cluster: LiveCluster, server: Server
) -> None:
    first, second = _version(server, "2", labels={"own": "1"}), _version(server, "3", labels={"own": "1", "two": "2"})

    def patch_again(method: str) -> None:
        server.during = lambda _: None
        server.pod = second
        _label(cluster)
        deliver_stale(server, first)
        deliver(cache, server, second)
        server.pod = first

    server.during = patch_again
    cache.changed.clear()
    _label(cluster)
    assert not _starts_cycle(cache, server)


def test_relist_keeps_concurrent_writes(cache: ObjectCache, server: Server) -> None:
    server.pod = {**server.pod, "spec": {"nodeName": "node-2"}}
    cache.resync((POD,), 60)
    assert held(cache)["spec"]["nodeName"] == "node-2"


def test_field_managers_are_not_kept(cache: ObjectCache, cluster: LiveCluster, server: Server) -> None:
    managed = {**server.pod["metadata"], "managedFields": [{"manager": "kubectl"}]}
    server.pod = {**server.pod, "metadata": managed}
    cluster.merge(POD, "vision", "work", {})
    assert "managedFields" not in held(cache)["metadata"]
    server.events.put({"type": "MODIFIED", "object": {**server.pod, "spec": {"nodeName": "node-1"}}})
    until(lambda: "nodeName" in held(cache)["spec"])
    assert "managedFields" not in held(cache)["metadata"]
    cache.resync((POD,), 60)
    assert held(cache)["spec"] == {}
    assert "managedFields" not in held(cache)["metadata"]
