"""A cluster in memory for the live scheduler: its writes succeed, are rejected, or have their effect without a response."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from apportion_runtime.kube.cluster import Change, Manifest, key_of
from apportion_runtime.kube.errors import Origin, Refused, Unreachable
from apportion_runtime.kube.object_store import ObjectStore
from apportion_runtime.kube.resources import POD
from apportion_runtime.kube.write_pool import Priority, WritePool

Made = dict[str, Any]
T = TypeVar("T")
_STATUSES = (403, 404, 409, 422, 429, 503)


class StoredCluster:
    """A cluster whose objects are stored; random writes fail.

    Attributes:
        store: The objects.
        failing: The part of the writes that fail.
        round: Each round has other failures, which do not depend on the order of parallel writes.
    """

    def __init__(self, seed: int) -> None:
        self.store = ObjectStore()
        self.failing = 0.0
        self.round = 0
        self._seed = seed
        self._n_made = 0

    def save(self, made: Made) -> Made:
        """Store an object, with a uid if it has none."""
        if "uid" not in made["metadata"]:
            self._n_made += 1
            made["metadata"]["uid"] = f"uid-{self._n_made}"
        self.store.put(made["kind"], key_of(made), made)
        return made

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        return self.store.objects(*kinds)

    def changes(self, consumer: object) -> Sequence[Change]:
        return self.store.changes(consumer)

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        held = self.store.of(kind)
        return held.get((namespace, name)) or held.get(("", name))

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        return self.get(kind, namespace, name)

    def is_stored(self, kind: str, namespace: str, name: str) -> bool:
        return self.get(kind, namespace, name) is not None

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        pods = [pod for (place, _), pod in self.store.of(POD).items() if place == namespace]
        return [pod for pod in pods if labels.items() <= (pod["metadata"].get("labels") or {}).items()]

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        made = {**manifest, "metadata": dict(manifest["metadata"])}
        self.fail("create", made["metadata"]["name"])
        return made if dry_run else self.save(made)

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        self.fail("merge", name)
        before = self.store.of(kind).get((namespace, name))
        if before is None:
            raise Refused(404, f"{kind} {namespace}/{name} does not exist")
        return self.save(_merged(before, patch))

    def merge_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        self.merge(kind, namespace, name, {"status": status})

    def put(self, config_map: Manifest) -> Manifest:
        return config_map

    def delete(self, pod: Manifest) -> None:
        self.fail("delete", pod["metadata"]["name"])
        self.store.drop(POD, key_of(pod))

    def bind(self, pod: Manifest, node: str) -> None:
        self.fail("bind", pod["metadata"]["name"])
        stored = self.store.of(POD)[key_of(pod)]
        status = {**(stored.get("status") or {}), "conditions": [{"type": "PodScheduled", "status": "True"}]}
        self.save({**stored, "spec": {**stored["spec"], "nodeName": node}, "status": status})
        if self._draw("response", pod["metadata"]["name"]) < self.failing / 4:
            raise Unreachable("no response")

    def evict(self, pod: Manifest, *, dry_run: bool = False) -> None:
        self.fail("evict", pod["metadata"]["name"], is_budget=True)
        if not dry_run:
            ends = {"deletionTimestamp": "2025-11-21T08:00:30Z"}
            self.save({**pod, "metadata": {**pod["metadata"], **ends}})

    def explain_eviction(self, pod: Manifest, why: str) -> None:
        """Conditions are not read."""

    def wait(self, pod: Manifest, why: str) -> None:
        """Conditions are not read."""

    def record(self, about: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        """Events are not read."""

    def fail(self, verb: str, name: str, *, is_budget: bool = False) -> None:
        """Fail a write, or do nothing."""
        number = self._draw(verb, name)
        if number < self.failing:
            status = _STATUSES[int(number / self.failing * len(_STATUSES))]
            origin = Origin.BUDGET if is_budget and status == 429 else Origin.SERVER
            raise Refused(status, f"{verb} of {name} was rejected", origin=origin)

    def _draw(self, verb: str, name: str) -> float:
        return random.Random(f"{self._seed}/{self.round}/{verb}/{name}").random()


class OrderedWrites(WritePool):
    """Writes at once, and notes after the cycle: failures are the same in each run."""

    def __init__(self) -> None:
        self._queued_notes: dict[Hashable, Callable[[], object]] = {}

    def submit(self, priority: Priority, write: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(write())
        except (Refused, Unreachable) as failed:
            future.set_exception(failed)
        return future

    def note(self, key: Hashable, write: Callable[[], object]) -> None:
        self._queued_notes[key] = write

    def write_notes(self) -> None:
        notes, self._queued_notes = self._queued_notes, {}
        for write in notes.values():
            with suppress(Refused, Unreachable):
                write()


def _merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> Made:
    made = dict(before)
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = _merged(made.get(key) or {}, value) if isinstance(value, Mapping) else value
    return made
