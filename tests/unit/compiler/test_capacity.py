"""Capacity: guarantees compared with the pools of each cluster at max_nodes, and with one node less."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.checks.guarantees_over_capacity import guarantees_over_capacity
from apportion_compiler.checks.guarantees_over_capacity_one_node_down import guarantees_over_capacity_one_node_down
from apportion_compiler.checks.pool_size_inverted import pool_size_inverted
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import PolicyGraph, build_graph
from apportion_policy import (
    UNLIMITED,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    Gke,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
    Rules,
)


def _pool(name: str, model: str, n_nodes: int, provider: Gke | Fixed | None = None) -> NodePool:
    accelerator = Accelerator(model=model, count=8)
    return NodePool(id=name, provider=provider or Gke(), accelerator=accelerator, max_nodes=n_nodes)


def _cluster(name: str, *pools: NodePool, share: str = "1") -> Cluster:
    return Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0", pools=pools, share=share)


def _graph(
    queues: tuple[Queue, ...], pools: tuple[NodePool, ...], *clusters: Cluster, overcommit: str = "1"
) -> PolicyGraph:
    policy = Policy(
        organisation=Organisation(name="acme"),
        queues=queues,
        node_pools=pools,
        environments=(Environment(name="prod", clusters=clusters),),
        rules=Rules(overcommit=overcommit),
    )
    return build_graph(declare(policy), date(2026, 11, 21))


def _found(graph: PolicyGraph) -> list[tuple[str, str, str | None]]:
    checks = (guarantees_over_capacity, guarantees_over_capacity_one_node_down, pool_size_inverted)
    return [(d.code, d.message, d.scope) for check in checks for d in check(graph)]


def _over(graph: PolicyGraph) -> Diagnostic:
    (found,) = guarantees_over_capacity(graph)
    return found


def test_total_gpus_are_compared_without_models() -> None:
    pools = (_pool("h100", "h100", 2), _pool("a100", "a100", 1))
    graph = _graph((Queue(id="a", guaranteed=Resources(gpu=25)),), pools, _cluster("c", *pools))
    assert _found(graph) == [
        ("AP601", "guarantees add up to 25 GPUs, but prod/c has 24 GPUs on 3 nodes", "prod/c"),
    ]


def test_total_is_not_repeated_beside_a_model() -> None:
    pools = (_pool("h100", "h100", 2), _pool("a100", "a100", 1))
    queue = Queue(id="a", guaranteed=Resources(gpu={"h100": 24, "a100": 4}))
    assert _found(_graph((queue,), pools, _cluster("c", *pools))) == [
        ("AP601", "guarantees add up to 24 H100, but prod/c has 16 H100 on 2 nodes", "prod/c"),
        ("AP602", "guarantees add up to 4 A100, but with one 8-GPU node of `a100` down, prod/c has 0 A100", "prod/c"),
    ]


def test_equal_findings_of_clusters_are_merged() -> None:
    pool = _pool("h100", "h100", 1)
    queue = Queue(id="a", guaranteed=Resources(gpu={"h100": 16}))
    graph = _graph((queue,), (pool,), _cluster("c", pool), _cluster("d", pool), _cluster("e", pool, share="3/4"))
    assert [(scope, message) for _, message, scope in _found(graph)] == [
        ("prod/c", "guarantees add up to 16 H100, but prod/c has 8 H100 on 1 node"),
        ("prod/e", "guarantees add up to 12 H100, but prod/e has 8 H100 on 1 node"),
    ]
    first = next(guarantees_over_capacity(graph))
    assert [related.message for related in first.related][-1] == "prod/d has the same shortage"


def test_overcommit_raises_capacity_and_lowers_the_fix() -> None:
    pool = _pool("h100", "h100", 4)
    queue = Queue(id="a", guaranteed=Resources(gpu={"h100": 64}))
    found = _over(_graph((queue,), (pool,), _cluster("c", pool), overcommit="1.5"))
    assert found.message == (
        "guarantees add up to 64 H100, but prod/c has 32 H100 on 4 nodes (48 H100 with an overcommit of 1.5)"
    )
    assert found.fix is not None
    assert found.fix.value == 6  # 6 x 8 x 1.5 = 72; 5 nodes would allow 60.
    assert _found(_graph((queue,), (pool,), _cluster("c", pool), overcommit="3")) == []


def test_fixed_pools_suggest_a_lower_guarantee() -> None:
    rack = _pool("rack", "a100", 2, Fixed())
    found = _over(_graph((Queue(id="a", guaranteed=Resources(gpu={"a100": 20})),), (rack,), _cluster("c", rack)))
    assert found.hint == "lower the guarantee of `a` by 4 A100, or add machines to `rack`"
    assert found.fix is not None
    assert (found.fix.path, found.fix.value) == (("gpu", "a100"), 16)


@pytest.mark.parametrize("share", ["1/2", "3/4"])
def test_cluster_share_has_no_single_value_to_lower(share: str) -> None:
    rack = _pool("rack", "a100", 1, Fixed())
    queue = Queue(id="a", guaranteed=Resources(gpu={"a100": 20}))
    assert _over(_graph((queue,), (rack,), _cluster("c", rack, share=share))).fix is None


def test_unlimited_guarantees_and_unknown_capacity_are_skipped() -> None:
    pool = _pool("h100", "h100", 4)
    queues = (
        Queue(id="a", guaranteed=Resources(gpu={"h100": 8}, cpu=10_000, memory="1Pi")),
        Queue(id="b", guaranteed=Resources(gpu={"h100": UNLIMITED})),
    )
    assert _found(_graph(queues, (pool,), _cluster("c", pool), _cluster("unlisted"))) == []


def test_cpu_is_found_on_pools_without_gpus() -> None:
    gpus = NodePool(id="gpus", provider=Gke(), cpu=10, accelerator=Accelerator(model="l4", count=1), max_nodes=1)
    ordinary = NodePool(id="ordinary", provider=Gke(), cpu=4, max_nodes=2)
    graph = _graph((Queue(id="a", guaranteed=Resources(cpu=27)),), (gpus, ordinary), _cluster("c", gpus, ordinary))
    assert _over(graph).hint == "raise `max_nodes` to 5 in `ordinary`, or lower the guarantee of `a` by 9 cpu"


def test_gpu_guarantee_on_a_cluster_without_gpus_is_an_error() -> None:
    pool = NodePool(id="ordinary", provider=Gke(), max_nodes=2)
    found = _over(_graph((Queue(id="a", guaranteed=Resources(gpu=2)),), (pool,), _cluster("c", pool)))
    assert found.message == "guarantees add up to 2 GPUs, but prod/c has 0 GPUs"


def test_empty_pool_is_reported_once_by_its_own_rule() -> None:
    pool = _pool("h100", "h100", 0)
    queue = Queue(id="a", guaranteed=Resources(gpu={"h100": 16}))
    assert _found(_graph((queue,), (pool,), _cluster("c", pool))) == [
        (
            "AP612",
            "`h100` sets `max_nodes` to 0, but queues on prod/c are guaranteed 16 H100, which no node pool provides",
            "prod/c",
        ),
    ]
