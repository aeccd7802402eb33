"""Amounts are shown in the units that people write, and never less exactly than they are."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.compile import check_policy
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.orgtree.report import effective_limits
from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
)
from apportion_policy.quantity import UNLIMITED, Amount, parse_cpu, parse_memory, readable_memory
from apportion_policy.resources import amount_text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 37_500, "37.5 cpu"),
        ("cpu", 4_000, "4 cpu"),
        ("cpu", 1, "0.001 cpu"),
        ("memory", 77 * 2**30, "77Gi memory"),
        ("memory", 3 * 2**39, "1536Gi memory"),
        ("memory", 3 * 2**49, "1536Ti memory"),
        ("memory", 100_000 * 2**20, "97.66Gi memory (100000Mi)"),
        ("memory", 100_352 * 2**20, "98Gi memory"),
        ("memory", 82_463_372_083, "76.8Gi memory (82463372083 bytes)"),
        ("memory", 200_000_000, "200M memory"),
        ("memory", 0, "0 memory"),
        ("memory", UNLIMITED, "unlimited memory"),
        ("gpu/h100", 1_500, "1.5 H100"),
    ],
)
def test_amount_is_readable(resource: str, amount: Amount, text: str) -> None:
    assert amount_text(resource, amount) == text


@given(st.integers(0, 2**62))
def test_readable_amounts_are_exact(amount: int) -> None:
    assert parse_cpu(amount_text("cpu", amount).removesuffix(" cpu")) == amount
    nearest, exact = readable_memory(amount)
    assert parse_memory((exact or nearest).removesuffix(" bytes")) == amount


POOLS = tuple(
    NodePool(id=model, cpu=96, memory="1Ti", accelerator=Accelerator(model=model, count=8), max_nodes=20)
    for model in ("h100", "l4")
)
CLUSTER = Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=POOLS)


@pytest.mark.parametrize(
    ("limit", "resource", "amount"),
    [
        (Resources(gpu={"h100": 8, "l4": 48}), "gpu", 56_000),
        (Resources(gpu={"h100": 8}), "gpu", 132_000),
        (Resources(gpu=56), "gpu/h100", 56_000),
    ],
)
def test_model_and_total_gpu_limits_bound_each_other(limit: Resources, resource: str, amount: int) -> None:
    policy = Policy(
        organisation=Organisation(name="acme"),
        queues=(
            Queue(id="research", limit=Resources(gpu=132)),
            Queue(id="vision", parent="research", limit=limit),
        ),
        node_pools=POOLS,
        environments=(Environment(name="prod", clusters=(CLUSTER,)),),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    assert effective_limits(graph, graph.scope("prod", "gpu-1"), resource)["vision"] == amount


def test_machine_descriptions_use_readable_units() -> None:
    pool = NodePool(
        id="l4",
        provider=Gke(),
        machine_type="g2-standard-4",
        cpu="37500m",
        memory="82463372083",
        min_nodes=2,
        max_nodes=2,
    )
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(Queue(id="a", namespaces=("a",), guaranteed=Resources(memory="100Gi")),),
        node_pools=(pool,),
        environments=(Environment(name="prod", clusters=(CLUSTER.model_copy(update={"pools": ("l4",)}),)),),
    )
    said = "\n".join(d.message for d in check_policy(policy, date(2026, 11, 21)).diagnostics)
    assert "37.5 cores per machine, but g2-standard-4 has 4" in said
    assert "76.8Gi of memory per machine, but g2-standard-4 has 16Gi" in said
    assert "one 76.8Gi node of `l4` down" in said
