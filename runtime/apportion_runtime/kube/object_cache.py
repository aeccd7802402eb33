"""A cache of the cluster's objects: listed once, then watched, with assumed changes until the watch confirms them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from apportion_runtime.kube.assumptions import Assumption, Assumptions, bound_pod
from apportion_runtime.kube.cached_fields import cached_fields
from apportion_runtime.kube.change_filter import is_relevant
from apportion_runtime.kube.cluster import Change, Key, Manifest, key_of
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.event_wait import is_set_within
from apportion_runtime.kube.list_faults import ListFaults, watch_fault
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.kube.own_writes import OwnWrites, is_older
from apportion_runtime.kube.owner_reads import OwnerReader
from apportion_runtime.kube.resources import POD, WATCHED, Resource

_WATCH_S = 300
_AGAIN_S = 2.0
_UNDEFINED_S = 60.0
"""The time after which a kind that need not be defined, and is not, is listed again."""
_PAGE = 500
_ASSUMED_S = 30.0
"""The time after which an assumed change that no watch has confirmed is verified."""


class ObjectCache:
    """The objects of the watched kinds.

    Attributes:
        changed: Set whenever a change may change decisions.
        n_received: How many events the watches have delivered.

    Args:
        connection: The API server.
        kinds: The watched kinds, by name.
        on_fault: Receives the reason when a kind cannot be watched.
        on_recovery: Receives a line when a kind can be listed again, and the reasons that have ended.
    """

    def __init__(
        self,
        connection: Connection,
        kinds: Mapping[str, Resource] = WATCHED,
        *,
        on_fault: Callable[[str], None] = lambda fault: None,
        on_recovery: Callable[[str, Collection[str]], None] = lambda line, reasons: None,
    ) -> None:
        self.list_faults = ListFaults(on_fault, on_recovery)
        self._on_fault = on_fault
        self.kinds = kinds
        self._connection = connection
        self._owners = OwnerReader(connection)
        self._store = ObjectStore(kinds)
        self._assumptions = Assumptions()
        self._own_writes = OwnWrites()
        # A watch that was replaced has an older generation, and its events are ignored.
        self._generations: dict[str, int] = dict.fromkeys(kinds, 0)
        # The version up to which the changes of each kind are known.
        self._reached: dict[str, int] = dict.fromkeys(kinds, 0)
        self._listed: dict[str, threading.Event] = {kind: threading.Event() for kind in kinds}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.changed = threading.Event()
        self.n_received = 0

    def start(self, timeout_s: float, ended: threading.Event | None = None) -> None:
        """Start the watches, and return once all kinds are listed, or `ended` is set.

        Raises:
            Unreachable: If this times out.
        """
        self.resync(tuple(self.kinds), timeout_s, ended)

    def resync(self, kinds: Sequence[str], timeout_s: float, ended: threading.Event | None = None) -> None:
        """List kinds again, including all writes so far, and return when they are listed, or `ended` is set.

        Raises:
            Unreachable: If this times out.
        """
        for kind in kinds:
            self._listed[kind].clear()
            with self._lock:
                self._generations[kind] += 1
                generation = self._generations[kind]
            resource = self.kinds[kind]
            threading.Thread(
                target=self._follow, args=(resource, generation), name=resource.plural, daemon=True
            ).start()
        for kind in kinds:
            if not is_set_within(timeout_s, self._listed[kind], ended):
                late = f"timed out listing {self.kinds[kind].plural} after {timeout_s:g} s"
                raise Unreachable(self.list_faults.texts.get(kind, late))

    def stop(self) -> None:
        """Stop the watches; the threads end with their next event."""
        self._ended.set()
        self.changed.set()

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        with self._lock:
            return self._store.objects(*kinds)

    def changes(self, consumer: object) -> Sequence[Change]:
        """Return the changes since the consumer's last call; all objects in its first call."""
        with self._lock:
            return self._store.changes(consumer)

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        with self._lock:
            held = self._store.of(kind)
            return held.get((namespace, name)) or held.get(("", name))

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        watched = self.kinds.get(kind)
        if watched is not None and watched.api_version == api_version:
            return self.get(kind, namespace, name)
        return self._owners.read(api_version, kind, namespace, name)

    def is_stored(self, kind: str, namespace: str, name: str) -> bool:
        """Return whether the API server has an object, which its watch may not have delivered.

        Raises:
            Refused: If it rejects the read.
            Unreachable: If it does not respond.
        """
        return self._stored(kind, namespace, name) is not None

    def read_again(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return an object as the API server has it, and replace the cached one, unless its watch has meanwhile.

        Raises:
            Refused: If it rejects the read.
            Unreachable: If it does not respond.
        """
        before = self.get(kind, namespace, name)
        found = self._stored(kind, namespace, name)
        if found is not None:
            self.put_patched(kind, before, found)
        return found

    def _stored(self, kind: str, namespace: str, name: str) -> Manifest | None:
        # A list, for which no further permission is needed.
        resource = self.kinds[kind]
        path = f"{resource.path(namespace)}?fieldSelector=metadata.name%3D{quote(name, safe='')}"
        try:
            found = self._connection.request("GET", path)
        except Refused as refused:
            if refused.status != HTTPStatus.BAD_REQUEST:
                raise
            # The text cannot be a name.
            return None
        listed = (one for one in found["items"] if one["metadata"]["name"] == name)
        return next(({"apiVersion": resource.api_version, "kind": kind, **one} for one in listed), None)

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        with self._lock:
            pods = [pod for (place, _), pod in self._store.of(POD).items() if place == namespace]
        return [pod for pod in pods if labels.items() <= (pod["metadata"].get("labels") or {}).items()]

    @contextmanager
    def writing(self, kind: str, namespace: str, name: str) -> Iterator[None]:
        """Send a write of an object and record its result in the block: its event does not start a cycle."""
        key = (kind, (namespace, name))
        with self._lock:
            self._own_writes.begin(key)
        try:
            yield
        finally:
            with self._lock:
                is_changed = self._own_writes.end(key)
            if is_changed:
                self.changed.set()

    def put_created(self, kind: str, made: Manifest) -> None:
        """Add an object that was created, unless the watch has delivered it, or also its deletion."""
        key, made = key_of(made), self._cached(kind, made)
        # A dry run creates objects without a version.
        version = made["metadata"].get("resourceVersion")
        with self._lock:
            held = self._store.of(kind).get(key)
            self._own_writes.stored((kind, key), made, held)
            if held is None and (version is None or int(version) > self._reached[kind]):
                self._store.put(kind, key, made)

    def put_patched(self, kind: str, before: Manifest | None, made: Manifest) -> None:
        """Replace an object by the result of a patch, unless the watch has delivered a later change."""
        key, made = key_of(made), self._cached(kind, made)
        with self._lock:
            held = self._store.of(kind).get(key)
            self._own_writes.stored((kind, key), made, held)
            if before is not None and held is not None and (held is before or is_older(held, made)):
                self._own_writes.replaces((kind, key), held, made)
                self._store.put(kind, key, self._assumptions.applied(key, made) if kind == POD else made)

    def assume_bound(self, pod: Manifest, node: str, *, is_certain: bool = True) -> None:
        """Assume a pod to be bound until the watch confirms it; if uncertain, `verify` checks it immediately."""

        def change(held: Manifest) -> Manifest:
            return bound_pod(held, node)

        def is_own(before: Manifest | None, after: Manifest) -> bool:
            return before is not None and not is_relevant(POD, change(before), after)

        self._assume(pod, change, lambda held: bool(held["spec"].get("nodeName")), _ASSUMED_S if is_certain else 0.0)
        if is_certain:
            # The response to a bind has no version.
            with self._lock:
                self._own_writes.decide((POD, key_of(pod)), is_own)

    def assume_deleted(self, pod: Manifest) -> None:
        """Assume a pod to be terminating until the watch confirms it."""
        ends = {"deletionTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
        self._assume(
            pod,
            lambda held: {**held, "metadata": {**held["metadata"], **ends}},
            lambda held: "deletionTimestamp" in held["metadata"],
            _ASSUMED_S,
        )

    def verify(self) -> None:
        """Replace the pods whose assumed changes are overdue by those of the API server.

        Raises:
            Refused: If it rejects a read.
            Unreachable: If it does not respond.
        """
        with self._lock:
            overdue = {key: self._store.of(POD).get(key) for key in self._assumptions.overdue(time.monotonic())}
        for key, before in overdue.items():
            self.changed.set()
            try:
                found = self._connection.request("GET", WATCHED[POD].path(*key))
            except Refused as refused:
                if refused.status != HTTPStatus.NOT_FOUND:
                    raise
                found = None
            with self._lock:
                if self._store.of(POD).get(key) is not before:
                    # The watch has delivered a change, which may be later than what was read.
                    continue
                self._assumptions.end(key)
                if found is None:
                    self._store.drop(POD, key)
                elif before is not None:
                    self._store.put(POD, key, cached_fields(POD, found, before))

    def node_of(self, pod: Manifest) -> str | None:
        """Return the node of a pod on the API server; None if it is unbound or another pod. Raises `Unreachable`."""
        metadata = pod["metadata"]
        try:
            found = self._connection.request("GET", WATCHED[POD].path(metadata["namespace"], metadata["name"]))
        except Refused as refused:
            if refused.rejection is Rejection.GONE:
                return None
            raise Unreachable(f"pod {metadata['name']} cannot be read: {refused}") from None
        node: str | None = found["spec"].get("nodeName")
        return node if found["metadata"]["uid"] == metadata["uid"] else None

    def _assume(
        self,
        pod: Manifest,
        change: Callable[[Manifest], Manifest],
        is_confirmed: Callable[[Manifest], bool],
        expires_s: float,
    ) -> None:
        key, uid = key_of(pod), pod["metadata"]["uid"]
        with self._lock:
            held = self._store.of(POD).get(key)
            # A pod that the watch has reported as deleted stays deleted.
            if held is not None and held["metadata"]["uid"] == uid and not is_confirmed(held):
                self._assumptions.add(key, Assumption(uid, change, is_confirmed, time.monotonic() + expires_s))
                self._store.put(POD, key, change(held))

    def _follow(self, resource: Resource, generation: int) -> None:
        version = ""
        while not self._ended.is_set() and self._generations[resource.kind] == generation:
            began_s, is_listed = time.monotonic(), False
            try:
                if version and self._is_ahead(resource, version):
                    version = ""
                if not version:
                    version = self._list(resource, generation)
                self.list_faults.listed(resource)
                is_listed = True
                for seen in self._watch(resource, generation, version):
                    version = seen
            except (Refused, Unreachable) as failed:
                # A watch that ran for a while is opened again at once.
                delay_s = _AGAIN_S if time.monotonic() - began_s < _AGAIN_S else 0.0
                if isinstance(failed, Refused) and failed.rejection is not Rejection.TEMPORARY:
                    # The resource version has expired.
                    version = ""
                if isinstance(failed, Refused) and failed.status == HTTPStatus.NOT_FOUND and not resource.is_needed:
                    self._listed[resource.kind].set()
                    self.list_faults.listed(resource)
                    delay_s = _UNDEFINED_S
                elif not is_listed and self._generations[resource.kind] == generation:
                    self.list_faults.failed(resource, failed)
                # A watch whose version has expired lists again: that is its normal end, as is that of one that ran for a while.
                elif delay_s and not (isinstance(failed, Refused) and failed.status == HTTPStatus.GONE):
                    self._on_fault(watch_fault(resource, failed))
                self._ended.wait(delay_s)

    def _is_ahead(self, resource: Resource, version: str) -> bool:
        """Return whether a version is later than the API server's, as after a restore of etcd: a watch would wait for it."""
        current = self._connection.request("GET", f"{resource.everywhere}?limit=1")["metadata"]["resourceVersion"]
        if int(current) >= int(version):
            return False
        self._on_fault(f"{resource.plural}: the API server reverted to an earlier state; relisting all objects")
        return True

    def _list(self, resource: Resource, generation: int) -> str:
        found: dict[Key, Manifest] = {}
        made: Manifest | None = None
        path = f"{resource.everywhere}?limit={_PAGE}"
        answer = self._connection.request("GET", path)
        while True:
            for one in answer["items"]:
                # Items of a list have no apiVersion and kind.
                named = {"apiVersion": resource.api_version, "kind": resource.kind, **one}
                made = found[key_of(one)] = self._cached(resource.kind, named, made)
            more = answer["metadata"].get("continue")
            if not more:
                break
            answer = self._connection.request("GET", f"{path}&continue={more}")
        with self._lock:
            if self._generations[resource.kind] == generation:
                if resource.kind == POD:
                    found = {key: self._assumptions.applied(key, pod) for key, pod in found.items()}
                self._store.replace(resource.kind, found)
                self._reached[resource.kind] = int(answer["metadata"]["resourceVersion"])
                self._own_writes.forget_kind(resource.kind)
                # Whoever waits for the list may clear this.
                self.changed.set()
                self._listed[resource.kind].set()
        return str(answer["metadata"]["resourceVersion"])

    def _watch(self, resource: Resource, generation: int, version: str) -> Iterator[str]:
        """Store the events of a watch, and yield the resource version after each, until it ends."""
        made: Manifest | None = None
        path = f"{resource.everywhere}?watch=1&allowWatchBookmarks=true&resourceVersion={version}"
        for event in self._connection.lines(path, _WATCH_S):
            one: dict[str, Any] = event["object"]
            if event["type"] == "ERROR":
                raise Refused(int(one.get("code", 0)), str(one.get("message", "watch closed")))
            version = str(one["metadata"]["resourceVersion"])
            if event["type"] == "BOOKMARK":
                yield version
                continue
            made = self._cached(resource.kind, one, made)
            with self._lock:
                if self._generations[resource.kind] != generation:
                    break
                is_due = self._receive(resource.kind, event["type"], made)
                self._reached[resource.kind] = int(version)
            if is_due:
                self.changed.set()
            yield version
            if self._ended.is_set():
                break

    def _cached(self, kind: str, one: Manifest, like: Manifest | None = None) -> Manifest:
        """Return an object as it is kept, with the equal parts of its cached version, or else of another object."""
        with self._lock:
            held = self._store.of(kind).get(key_of(one), like)
        return cached_fields(kind, one, held)

    def _receive(self, kind: str, event: str, one: Manifest) -> bool:
        """Store what a watch delivers, and return whether it is another's change that may change decisions."""
        key = key_of(one)
        self.n_received += 1
        if event == "DELETED":
            self._own_writes.forget((kind, key))
            if kind == POD:
                self._assumptions.end(key)
            return self._store.drop(kind, key) is not None
        held = self._store.of(kind).get(key)
        # The cache may have the result of a later own write.
        is_stale = held is not None and is_older(one, held)
        before, after = self._own_writes.receive((kind, key), held, one, is_stale=is_stale), one
        if not is_stale:
            after = self._assumptions.applied(key, one) if kind == POD else one
            self._store.put(kind, key, after)
        if self._own_writes.is_own((kind, key), one) or not is_relevant(kind, before, after):
            return False
        return not self._own_writes.defers((kind, key), before, after)
