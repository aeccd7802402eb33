"""LimitRanges are declared, emitted on every engine, and imported unchanged."""

from __future__ import annotations

from datetime import date
from typing import Any, cast

import pytest
import yaml
from pydantic import ValidationError

from apportion_compiler.backends import EMITTERS
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_compiler.readers import READERS
from apportion_policy import Cluster, Environment, LimitRange, Organisation, Policy, Queue, Resources

GUIDE = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: ai-quota, namespace: ai}
spec: {hard: {requests.cpu: "32", requests.memory: 128Gi}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: ai-limits, namespace: ai}
spec:
  limits:
  - type: Container
    default: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "1"}
    defaultRequest: {cpu: "2", memory: 4Gi, nvidia.com/gpu: "1"}
"""
NUMBERS = LimitRange(
    name="numbers",
    default_request=Resources(cpu="500m", memory="1Gi"),
    max=Resources(cpu=32, gpu=8, extended={"rdma/hca": 2}),
)


def _program(*queues: Queue, engine: str = "native") -> Program:
    policy = Policy(
        organisation=Organisation(name="acme"),
        queues=queues,
        environments=(Environment(name="prod", clusters=(Cluster(name="main", engine=engine, engine_version="1"),)),),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, next(scope for scope in graph.scopes if scope.cluster is not None))


def _limit_ranges(program: Program) -> dict[tuple[str, str], Any]:
    return {
        (m["metadata"]["namespace"], m["metadata"]["name"]): m["spec"]["limits"]
        for m in cast("list[dict[str, Any]]", list(EMITTERS["native"].emit(program).manifests))
        if m["kind"] == "LimitRange"
    }


@pytest.mark.parametrize("engine", ["native", "kai"])
def test_limit_ranges_apply_to_descendants(engine: str) -> None:
    top = Queue(id="top", limit=Resources(cpu=64), limit_ranges=(NUMBERS,))
    own = Queue(id="own", parent="top", namespaces=("own",), limit_ranges=(LimitRange(min=Resources(cpu="100m")),))
    program = _program(top, own, Queue(id="a", parent="top", namespaces=("a1", "a2")), engine=engine)
    numbers = {
        "type": "Container",
        "defaultRequest": {"cpu": "500m", "memory": "1Gi"},
        "max": {"cpu": "32", "nvidia.com/gpu": "8", "rdma/hca": "2"},
    }
    assert _limit_ranges(program) == {
        ("a1", "numbers"): [numbers],
        ("a2", "numbers"): [numbers],
        ("own", "apportion"): [{"type": "Container", "min": {"cpu": "100m"}}],
    }


def test_counted_namespace_gets_a_default_limit_range() -> None:
    program = _program(Queue(id="a", namespaces=("a",), limit=Resources(cpu=8)))
    assert _limit_ranges(program) == {("a", "apportion"): [{"type": "Container", "defaultRequest": {"cpu": "100m"}}]}
    (queue,) = READERS["native"].read(EMITTERS["native"].emit(program).manifests).queues
    assert queue.limit_ranges == ()


def test_import_preserves_limit_ranges() -> None:
    (queue,) = READERS["native"].read(list(yaml.safe_load_all(GUIDE))).queues
    (kept,) = queue.limit_ranges
    program = _program(Queue(id="ai", namespaces=("ai",), limit=Resources(cpu=32), limit_ranges=(kept,)))
    written = next(m for m in yaml.safe_load_all(GUIDE) if m["kind"] == "LimitRange")["spec"]["limits"]
    assert _limit_ranges(program) == {("ai", "ai-limits"): written}


def test_limit_ranges_are_imported_on_every_engine() -> None:
    program = _program(Queue(id="a", namespaces=("a",), limit_ranges=(NUMBERS,)), engine="kai")
    manifests = [m for name in ("kai", "native") for m in EMITTERS[name].emit(program).manifests]
    (queue,) = (queue for queue in READERS["kai"].read(manifests).queues if queue.id == "a")
    assert queue.limit_ranges == (NUMBERS,)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "it is empty: set `default_request`"),
        ({"max": Resources(cpu="unlimited")}, "`max`: cpu cannot be unlimited; omit it"),
        ({"max": Resources(gpu={"h100": 1})}, "whole GPUs without a model"),
        ({"max": Resources(gpu="0.5")}, "whole GPUs without a model"),
        (
            {"default_request": Resources(memory="4Gi"), "max": Resources(memory="2Gi")},
            "`default_request` of 4Gi memory exceeds `max` of 2Gi memory",
        ),
    ],
)
def test_invalid_limit_range_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        LimitRange(**fields)


def test_duplicate_limit_range_is_refused() -> None:
    with pytest.raises(ValidationError, match="two objects named numbers"):
        Queue(id="a", limit_ranges=(NUMBERS, NUMBERS))


def test_contradictory_bounds_are_left_to_the_api_server() -> None:
    (queue,) = READERS["native"].read(list(yaml.safe_load_all(GUIDE.replace('{cpu: "4"', '{cpu: "1"')))).queues
    assert queue.limit_ranges == ()
