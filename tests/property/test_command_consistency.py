"""Consistency of commands about workloads.

A workload that `validate --manifests` reports as rejected or pending never runs in a simulation, and output of `bind`
without a note passes `validate` and starts in the simulator on an empty cluster.
"""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_compiler.backends import EMITTERS
from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.bindings.bind import bound
from apportion_compiler.bindings.capacity_rules import capacity_verdicts
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.engine_rules.pod_admission import admit
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.ir.program import Program
from apportion_policy import Queue, Resources
from apportion_policy.quantity import Amount
from apportion_runtime.engines.detection import named, of_model
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.reader import read_scenario

from ..bindings.programs import H100, ORDINARY, program

ENGINES = ("kai", "kueue", "ack", "native")
NEVER = (Effect.REJECTED, Effect.PENDING)
GPU = "nvidia.com/gpu"
CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"requests": {GPU: "1"}, "limits": {}},
    {"requests": {GPU: "0.5"}, "limits": {GPU: "0.5"}},
    {"requests": {GPU: "16"}, "limits": {GPU: "16"}},
    {"model": "b300"},
)


@cache
def cluster(engine: str, guaranteed: int, limit: int) -> tuple[Program, list[dict[str, Any]]]:
    """Return a cluster with one queue, and its compiled objects."""
    queue = Queue(
        id="vision",
        namespaces=("vision",),
        guaranteed=Resources(gpu=guaranteed),
        limit=Resources(gpu=limit),
        priority_classes=("train",),
    )
    made = program(engine, queue, pools=(H100, ORDINARY))
    outputs = (EMITTERS[name].emit(made) for name in dict.fromkeys((engine, "native")))
    return made, [dict(manifest) for output in outputs for manifest in output.manifests]


def _bounded(amount: Amount) -> int:
    assert isinstance(amount, int)
    return amount


def starts(engine: str, made: Program, existing: list[dict[str, Any]], manifests: list[dict[str, Any]]) -> bool:
    """Return whether every workload starts in a simulation of the empty cluster."""
    nodes = [
        {
            "pool": pool.id, "count": pool.max_nodes, "gpus": pool.n_gpus, "gpu_memory": 80_000 if pool.n_gpus else 0,
            "cpu": _bounded(pool.machine["cpu"]) // 1000, "memory": str(pool.machine["memory"]), "labels": dict(node_labels(made, pool)),
            "taints": [{"key": t.key, "value": t.value or "", "effect": t.effect} for t in pool.taints],
        }
        for pool in made.pools
    ]  # fmt: skip
    works = [{"manifest": manifest, "duration": "1m"} for manifest in manifests]
    model = named(engine)
    scenario = read_scenario(
        json.dumps({"until": "1h", "nodes": nodes, "workloads": works}), lambda _: [], model.workload_labels
    )
    history = Cluster(of_model(existing, model), scenario, model, admit=partial(admit, engine)).run()
    return all(facts.started_s is not None for facts in history.workloads)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, int, int, Options, dict[str, Any]]:
    """Draw an engine, a queue's guarantee and limit, a job, and manual changes to it."""
    engine = draw(st.sampled_from(ENGINES))
    guaranteed = draw(st.integers(0, 16))
    limit = draw(st.integers(max(guaranteed, 1), 32))
    options = Options(gpus=1000 * draw(st.integers(0, 10)), workers=draw(st.integers(1, 5)))
    change = draw(st.sampled_from(CHANGES))
    return engine, guaranteed, limit, options, change


def _holds(case: tuple[str, int, int, Options, dict[str, Any]]) -> None:
    engine, guaranteed, limit, options, change = case
    made, existing = cluster(engine, guaranteed, limit)
    try:
        written = bound(made, "vision", "Job", options)
    except BindingError:
        return
    manifests: list[dict[str, Any]] = json.loads(json.dumps(written.objects))
    if change:
        pods = manifests[-1]["spec"]["template"]["spec"]
        if "model" in change:
            pods.setdefault("nodeSelector", {})["apportion.dev/gpu-model"] = change["model"]
        else:
            resources = pods["containers"][0]["resources"]
            for section in ("requests", "limits"):
                kept = {name: amount for name, amount in resources[section].items() if name != GPU}
                resources[section] = kept | change[section]
    found = [*workload_verdicts(engine, manifests, existing), *capacity_verdicts(made, manifests)]
    never = [verdict.message for verdict in found if verdict.effect in NEVER]
    runs = starts(engine, made, existing, manifests)
    assert not (never and runs), never
    if not change and not written.remarks:
        assert not found
        assert runs


@settings(max_examples=15, deadline=None)
@given(cases())
def test_validate_agrees_with_simulation(
    case: tuple[str, int, int, Options, dict[str, Any]],
) -> None:
    _holds(case)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(cases())
def test_validate_agrees_with_many_simulations(case: tuple[str, int, int, Options, dict[str, Any]]) -> None:
    _holds(case)
