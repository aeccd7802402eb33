"""Sums above 2^63-1, which no quantity can represent, are reported with their queue, field and value."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from apportion_api.objects import read_all
from apportion_api.volcano.objects import Queue as VolcanoQueue
from apportion_compiler.backends import BACKENDS
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import Cluster, Engine, Environment, NodePool, Organisation, Policy, Queue, Resources

LARGE = NodePool(id="large", cpu=96, memory="4Ei", max_nodes=1)
OF_MACHINES = (Queue(id="a", namespaces=("a",), guaranteed=Resources(machines={"large": 3})),)
OF_CHILDREN = (
    Queue(
        id="a",
        limit=Resources(memory="2Ei"),
        children=tuple(Queue(id=id_, namespaces=(id_,), guaranteed=Resources(memory="5Ei")) for id_ in "bc"),
    ),
)


def _program(engine: str, queues: tuple[Queue, ...], version: str = "1.8", **pool: Any) -> Program:
    cluster = Cluster(name="main", engine=Engine(engine), engine_version=version, pools=("large",))
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=queues,
        node_pools=(LARGE.model_copy(update=pool),),
        environments=(Environment(name="prod", clusters=(cluster,)),),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, graph.scopes[-1])


def _refused(program: Program) -> list[tuple[str, str, str]]:
    return [
        (refusal.code, refusal.address, refusal.message)
        for refusal in BACKENDS[program.engine].refusals(program)
        if refusal.code == "AP519"
    ]


@pytest.mark.parametrize(
    ("engine", "address", "message"),
    [
        ("ack", "cluster prod/main", "12Ei memory in total: the sum overflows a 64-bit integer"),
        ("kai", "queue a", "a guarantee of 12Ei memory: the largest quantity is 2^63-1 bytes"),
        ("koordinator", "cluster prod/main", "12Ei memory in total: the sum overflows a 64-bit integer"),
        ("kueue", "queue a", "a guarantee of 12Ei memory: the largest quantity is 2^63-1 bytes"),
        ("native", "queue a", "a guarantee of 12Ei memory: the largest quantity is 2^63-1 bytes"),
        ("volcano", "queue a", "`deserved` of 12Ei memory: the largest quantity is 2^63-1 bytes"),
        ("yunikorn", "queue a", "a guarantee of 12Ei memory: the maximum, 2^63-1, means unlimited"),
    ],
)
def test_amount_of_machines_beyond_a_quantity_is_refused(engine: str, address: str, message: str) -> None:
    assert _refused(_program(engine, OF_MACHINES)) == [("AP519", address, message)]


def test_sum_of_children_in_volcano_is_refused_and_capped() -> None:
    program = _program("volcano", OF_CHILDREN)
    message = "`deserved` of 10Ei memory: the largest quantity is 2^63-1 bytes"
    assert _refused(program) == [("AP519", "queue a", message)]
    (queue,) = (q for q in read_all(VolcanoQueue, BACKENDS["volcano"].emit(program).manifests) if q.name == "a")
    assert queue.deserved == queue.capability == {"memory": "9223372036854775807"}


def test_capacity_beyond_a_quantity_is_refused_for_kueues_root_cohort() -> None:
    queue = (Queue(id="a", namespaces=("a",), guaranteed=Resources(memory="1Ei")),)
    message = "12Ei memory in total: the sum overflows a 64-bit integer"
    assert _refused(_program("kueue", queue, max_nodes=3)) == [("AP519", "cluster prod/main", message)]


@pytest.mark.parametrize(("version", "refused"), [("0.17", 1), ("0.18", 0)])
def test_sum_of_guarantees_overflows_before_kueue_saturates(version: str, refused: int) -> None:
    queues = tuple(Queue(id=id_, namespaces=(id_,), guaranteed=Resources(memory="5Ei")) for id_ in "bc")
    assert len(_refused(_program("kueue", queues, version))) == refused
