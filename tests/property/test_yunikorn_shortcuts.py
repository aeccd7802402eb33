"""YuniKorn takes the same course if every request is tried in each step, and its nodes are found as by a plain search."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any
from unittest.mock import PropertyMock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import fits
from apportion_runtime.engines.yunikorn.applications import Application
from apportion_runtime.engines.yunikorn.model import MODEL
from apportion_runtime.engines.yunikorn.nodes import BINPACKING, FAIR, Node, Nodes
from apportion_runtime.engines.yunikorn.partition import Partition
from apportion_runtime.engines.yunikorn.queues import Queue, QueueSettings
from apportion_runtime.engines.yunikorn.user_limits import UserLimits
from apportion_runtime.sim.cluster import Cluster

from . import test_simulation_chaos_of_engines as chaos_of_engines

pytestmark = pytest.mark.property
_GPU = "nvidia.com/gpu"


def _queue(name: str, guaranteed: int, most: int = 0, **more: Any) -> dict[str, Any]:
    resources = {"guaranteed": {_GPU: str(guaranteed)}, **({"max": {_GPU: str(most)}} if most else {})}
    return {"name": name, "resources": resources, **more}


def _objects(seed: int) -> tuple[dict[str, Any], ...]:
    rng = random.Random(seed)
    delay = {"preemption.delay": rng.choice(("30s", "200s"))}
    leaves = [
        _queue("q0", rng.randint(0, 3), rng.choice((0, 6)), properties=delay),
        _queue("q1", rng.randint(1, 6), properties={**delay, "priority.policy": rng.choice(("fence", "default"))}),
        _queue("q2", rng.randint(1, 8), properties=delay),
    ]
    root = {"name": "root", "submitacl": "*", "queues": leaves}
    policy = {"type": rng.choice(("binpacking", "fair"))}
    partition = {
        "name": "default", "nodesortpolicy": policy, "preemption": {"enabled": rng.random() < 0.8},
        "placementrules": [{"name": "provided", "create": False}], "queues": [root],
    }  # fmt: skip
    data = {"queues.yaml": json.dumps({"partitions": [partition]})}
    metadata = {"name": "yunikorn-configs", "namespace": "yunikorn"}
    return (
        *chaos_of_engines._CLASSES,
        chaos_of_engines._AUTOSCALER,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data},
    )


def _course(seed: int) -> str:
    """Return the history of a random cluster, byte for byte."""
    labels = MODEL.workload_labels
    if seed % 2:
        # The pods of a queue are one application.
        labels = replace(labels, pod_labels=lambda queue: {"applicationId": f"of-{queue}"})
    with patch.object(chaos_of_engines, "_VOLCANO", _objects(seed)):
        cluster: Cluster = chaos_of_engines._cluster(replace(MODEL, workload_labels=labels), seed)
    return repr(cluster.run())


def _check(seed: int) -> None:
    expected = _course(seed)
    with (
        patch.object(Partition, "tries_all", PropertyMock(return_value=True)),
        patch("apportion_runtime.engines.yunikorn.preemption.is_beyond_guarantee", lambda *_: False),
    ):
        assert _course(seed) == expected


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_steps_do_not_depend_on_requests_that_are_not_tried(seed: int) -> None:
    _check(seed)


@pytest.mark.slow
@settings(settings.get_profile("thorough"), max_examples=20)
@given(seed=st.integers(0, 100_000))
def test_steps_do_not_depend_on_requests_that_are_not_tried_in_many_clusters(seed: int) -> None:
    _check(seed)


def _request(application: Application, rng: random.Random, number: int) -> Allocation:
    amounts = {_GPU: rng.randint(0, 3), "vcore": 1000 * rng.randint(1, 4)}
    return Allocation(f"pod-{number}", application, amounts, (0.0, number))


@settings(max_examples=50)
@given(seed=st.integers(0, 100_000))
def test_first_fitting_node_is_that_of_a_search(seed: int) -> None:
    """Allocations, reservations, cordons, other pods and resized or removed nodes change what fits."""
    rng = random.Random(seed)
    nodes = Nodes(rng.choice((FAIR, BINPACKING)), {"vcore": 1.0, _GPU: 1.0})
    application = Application("app", Queue("root", None, True, QueueSettings()), "", (0.0, 0), UserLimits({}))
    placed: list[Allocation] = []
    for number in range(120):
        request, node = _request(application, rng, number), rng.choice([*nodes]) if [*nodes] else None
        change = rng.choice(
            ("add", "allocate", "allocate", "release", "reserve", "cordon", "occupy", "resize", "remove")
        )
        if change == "add" or node is None:
            nodes.add(Node(f"node-{number:03}", {_GPU: rng.randint(1, 4), "vcore": 8000}))
        elif change == "allocate" and node.can_take(request):
            request.node = node
            nodes.allocate(node, request)
            placed.append(request)
        elif change == "release" and placed:
            gone = placed.pop(rng.randrange(len(placed)))
            assert gone.node is not None
            nodes.release(gone.node, gone.key)
        elif change == "reserve":
            for key in list(node.reservations):
                node.unreserve(key)
            if rng.random() < 0.5:
                node.reserve(request)
        elif change == "cordon":
            node.set_schedulable(not node.is_schedulable)
        elif change == "occupy":
            node.occupy({"vcore": 1000 * rng.randint(0, 4)})
        elif change == "resize":
            node.resize({_GPU: rng.randint(1, 4), "vcore": 8000})
            nodes.touch(node)
        elif change == "remove" and rng.random() < 0.2:
            nodes.remove(node.name)
            placed = [each for each in placed if each.node is not node]
        asked = _request(application, rng, -1)
        fitting = (
            node
            for node in nodes.ordered(with_reserved=False)
            if node.is_schedulable and fits(node.capacity, asked.amounts) and node.can_take(asked)
        )
        assert nodes.fitting.first(asked.shape) is next(fitting, None)
        assert nodes.fitting.has_open == any(node.is_schedulable and not node.reservations for node in nodes)
