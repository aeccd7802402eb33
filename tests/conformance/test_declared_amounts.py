"""No engine drops an amount that a queue declares: the objects have it, or a finding names the queue."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Backend
from apportion_compiler.fidelity import fidelity_findings
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
)

_MODELS = ("h100", "a100")
_AMOUNTS: dict[str, Callable[[int], Resources]] = {
    "cpu": lambda n: Resources(cpu=n),
    "memory": lambda n: Resources(memory=f"{n}Gi"),
    "gpu": lambda n: Resources(gpu=n),
    "gpu-of-one-model": lambda n: Resources(gpu={"h100": n}),
    "gpu-of-each-model": lambda n: Resources(gpu={"h100": n, "a100": 8}),
    "extended": lambda n: Resources(extended={"rdma/hca": n}),
}
_QUEUES: dict[str, Callable[[Resources], Queue]] = {
    "guaranteed": lambda amounts: Queue(id="research", namespaces=("research",), guaranteed=amounts),
    "limit": lambda amounts: Queue(id="research", namespaces=("research",), limit=amounts),
}
_CASES = [(amount, models) for amount in _AMOUNTS for models in (1, 2) if (amount, models) != ("gpu-of-each-model", 1)]


def _program(engine: str, queue: Queue, models: int) -> Program:
    pools = tuple(
        NodePool(
            id=model,
            provider=Fixed(),
            cpu=64,
            memory="512Gi",
            accelerator=Accelerator(model=model, count=8, memory="80Gi"),
            min_nodes=8,
            max_nodes=8,
        )
        for model in _MODELS[:models]
    )
    cluster = Cluster(
        name="main", engine=Engine(engine), engine_version="1.0.0", kubernetes_version="1.34.0", pools=pools
    )
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(queue,),
        node_pools=pools,
        environments=(Environment(name="prod", clusters=(cluster,)),),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, graph.scope("prod", "main"))


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=lambda backend: backend.name)
@pytest.mark.parametrize("field", _QUEUES)
@pytest.mark.parametrize(("amount", "models"), _CASES)
def test_declared_amount_is_emitted_or_reported(backend: Backend, field: str, amount: str, models: int) -> None:
    written, reported = [], []
    for number in (16, 24):
        queue = _QUEUES[field](_AMOUNTS[amount](number))
        program = _program(backend.name, queue, models)
        written.append(backend.emit(program))
        reported.append([f.code for f in fidelity_findings(program, backend) if f.address == "queue research"])
    assert written[0] != written[1] or all(reported), (
        f"the objects of {backend.name} are the same for two values of `{field}`, and no finding names the queue: "
        "write the amount, or yield a Refusal from the backend's `refusals`"
    )
