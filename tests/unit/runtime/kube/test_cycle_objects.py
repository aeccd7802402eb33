"""The objects that are kept for cycles are those that a cycle on the whole cluster reads, whatever changes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apportion_runtime.kube.cluster import Key, key_of
from apportion_runtime.kube.cycle_objects import CycleObjects
from apportion_runtime.kube.object_store import ObjectStore

from .objects import node, pod

STEPS = 80
SCHEDULER = "kai-scheduler"


def _pod(draw: random.Random) -> dict[str, Any]:
    annotations = draw.choice(({}, {}, {"gpu-fraction": "0.5"}, {"gpu-fraction-num-devices": "2"}))
    if (group := draw.choice((None, "g0", "g1", "p0"))) is not None:
        annotations = {**annotations, "pod-group-name": group}
    made = pod(f"p{draw.randrange(6)}", "nlp", 1, on=draw.choice((None, None, "n0")), **annotations)
    made["metadata"]["labels"] |= draw.choice(({}, {"runai-gpu-group/a": "a", "runai-gpu-group/b": "b"}))
    if draw.random() < 0.4:
        made["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"c{draw.randrange(2)}"}}]
    if draw.random() < 0.1:
        made["metadata"]["deletionTimestamp"] = "2025-11-21T08:00:00Z"
    if draw.random() < 0.1:
        made["spec"]["schedulerName"] = "other"
    return made


def _claim(draw: random.Random) -> dict[str, Any]:
    metadata = {"name": f"c{draw.randrange(2)}", "namespace": "team"}
    spec = draw.choice(({}, {"volumeName": "v0"}, {"volumeName": "v1"}))
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}


def _volume(draw: random.Random) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [draw.choice("ab")]}]}]
    spec = draw.choice(({}, {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}))
    return {"kind": "PersistentVolume", "metadata": {"name": f"v{draw.randrange(2)}"}, "spec": spec}


def _change(store: ObjectStore, draw: random.Random) -> None:
    objects = store.objects()
    if objects and draw.random() < 0.3:
        one = draw.choice(objects)
        store.drop(one["kind"], key_of(one))
        return
    make = draw.choice((_pod, _pod, _pod, _claim, _volume, lambda draw: node(f"n{draw.randrange(2)}", 8)))
    made = make(draw)
    store.put(made["kind"], key_of(made), made)


def _cycle(objects: CycleObjects, store: ObjectStore, rejected: Key | None, held: Key | None) -> dict[Key, str]:
    """Have the objects of a cycle read, and return why pods are left out."""
    objects.follow(store.changes(objects))
    bound = {}
    if held in objects.pods:
        bound[held] = {**objects.pods[held], "spec": {**objects.pods[held]["spec"], "nodeName": "n1"}}
    refusals = {} if rejected is None else {rejected: "the API server rejected it"}
    left_out = objects.unbound.unsupported(objects.volumes, SCHEDULER, refusals, lambda: None, bound)
    objects.show({**bound, **dict.fromkeys(left_out)})
    return dict(left_out)


@pytest.mark.parametrize("seed", range(20))
def test_kept_objects_are_those_of_the_whole_cluster(seed: int) -> None:
    draw, store, kept = random.Random(seed), ObjectStore(), CycleObjects()
    n_left_out = n_replaced = 0
    for _ in range(STEPS):
        for _ in range(draw.randrange(3)):
            _change(store, draw)
        fresh = CycleObjects()
        rejected = draw.choice((None, None, ("team", "g0")))
        held = draw.choice((None, None, ("team", f"p{draw.randrange(6)}")))
        left_out = _cycle(kept, store, rejected, held)
        assert left_out == _cycle(fresh, store, rejected, held)
        assert kept.sharing == fresh.sharing
        for kind in ("Pod", "Node", "PersistentVolume", "PersistentVolumeClaim"):
            assert kept.read.of(kind) == fresh.read.of(kind)
        n_left_out += len(left_out)
        n_replaced += sum(one is not store.of("Pod")[key] for key, one in kept.read.of("Pod").items())
    assert min(n_left_out, n_replaced) > 10


def test_what_a_cycle_reads_does_not_change_when_nothing_does() -> None:
    draw, store, objects = random.Random(1), ObjectStore(), CycleObjects()
    for _ in range(STEPS):
        _change(store, draw)
    held = next(key for key, one in store.of("Pod").items() if not one["spec"].get("nodeName"))
    _cycle(objects, store, None, held)
    assert objects.read.changes(store) != []
    _cycle(objects, store, None, held)
    assert objects.read.changes(store) == []
    _cycle(objects, store, None, None)
    assert [change.key for change in objects.read.changes(store)] == [held]
