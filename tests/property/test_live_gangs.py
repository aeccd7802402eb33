"""The live scheduler on random clusters of gangs, while writes fail: devices are given once, and gangs end whole."""

from __future__ import annotations

import random
import uuid
from collections import Counter, defaultdict

import pytest
from tests.unit.runtime.kube.sharing_pods import GROUP, RESERVED

from .live_gangs import N_GPUS, Gangs

pytestmark = pytest.mark.property
_STEPS, _ROUNDS_AFTERWARDS, _QUIET_ROUNDS = 9, 45, 12
_FEW, _MANY = 12, 252


def _groups(gangs: Gangs, namespace: str) -> dict[str, list[str]]:
    """Return the nodes of the pods of each group."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in gangs.pods(namespace):
        for label, group in one["metadata"]["labels"].items():
            if label.startswith(GROUP) and one["spec"].get("nodeName"):
                found[group].append(one["spec"]["nodeName"])
    return found


def _check_devices(gangs: Gangs) -> None:
    """Check that no device is used beyond itself, and no node beyond its devices."""
    shared: Counter[str] = Counter()
    whole = Counter(node for nodes in _groups(gangs, RESERVED).values() for node in nodes)
    for one in gangs.pods():
        node, fraction = one["spec"].get("nodeName"), one["metadata"]["annotations"].get("gpu-fraction")
        # KAI gives a device that is about to be released, too.
        if node is None or "deletionTimestamp" in one["metadata"]:
            continue
        if fraction is None:
            whole[node] += int(one["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"])
            continue
        groups = [group for label, group in one["metadata"]["labels"].items() if label.startswith(GROUP)]
        assert groups, "a pod that shares a device is labelled with it before it is bound"
        for group in groups:
            shared[group] += round(float(fraction) * 10)
    assert max(shared.values(), default=0) <= 10
    assert all(n_used <= N_GPUS for node, n_used in whole.items() if gangs.cluster.get("Node", "", node))


def _check_rest(gangs: Gangs) -> None:
    """Check that gangs are bound in whole or not at all, and exactly the shared devices are reserved."""
    used, reserved = _groups(gangs, "team"), _groups(gangs, RESERVED)
    assert reserved.keys() == used.keys()
    assert all({*nodes, *reserved[group]} == set(nodes) and len(set(nodes)) == 1 for group, nodes in used.items())
    for one in gangs.pods():
        if not one["spec"].get("nodeName"):
            assert not any(label.startswith(GROUP) for label in one["metadata"]["labels"])
    # Queues that reclaim from each other in turns have no rest.
    if gangs.quiet_rounds >= _QUIET_ROUNDS:
        bound = Counter(
            one["metadata"]["name"].partition("-")[0] for one in gangs.pods() if one["spec"].get("nodeName")
        )
        assert all(bound[gang] in (0, *range(least, 5)) for gang, least in gangs.minima.items())


@pytest.fixture(autouse=True)
def names_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of devices get the same names in each run, because devices are chosen by them."""
    draw = random.Random(0)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=draw.getrandbits(128), version=4))


def _check_history(seed: int) -> int:
    gangs, n_bound = Gangs(seed), 0
    for _ in range(_STEPS):
        gangs.change()
        n_bound += len(gangs.run().bound)
        _check_devices(gangs)
    gangs.cluster.failing = 0.0
    for _ in range(_ROUNDS_AFTERWARDS):
        n_bound += len(gangs.run(is_prompt=True).bound)
    _check_devices(gangs)
    _check_rest(gangs)
    return n_bound


def test_gangs_and_devices_of_any_history() -> None:
    assert sum(map(_check_history, range(_FEW))) > _FEW


@pytest.mark.slow
@pytest.mark.parametrize("first", range(_FEW, _MANY, 60))
def test_gangs_and_devices_of_many_histories(first: int) -> None:
    assert sum(map(_check_history, range(first, first + 60))) > 0
