"""The configurations of koord-scheduler that the compiler emits, and with which Koordinator decided the recorded cases.

A profile is named after the placement of a policy: `cpu-spread-gpu-binpack`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from apportion_compiler.engines.koordinator import emit as koordinator
from apportion_compiler.engines.koordinator.emit.config import CONFIG_FILE
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Placement,
    PlacementStrategy,
    Policy,
    Queue,
)

_NAMES = {
    f"cpu-{cpu.value}-gpu-{gpu.value}": Placement(cpu=cpu, gpu=gpu)
    for cpu in PlacementStrategy
    for gpu in PlacementStrategy
}
PROFILES = tuple(_NAMES)
RECORDED = Path(__file__).parent / "koordinator_random" / "profiles"


@cache
def emitted_configuration(profile: str) -> str:
    """Return the KubeSchedulerConfiguration that the compiler emits for a placement."""
    artifacts = koordinator.emit(_program(_NAMES[profile])).artifacts
    text = next(artifact.content for artifact in artifacts if artifact.name == CONFIG_FILE)
    configuration: str = yaml.safe_load(text)["data"]["koord-scheduler-config"]
    return configuration


def recorded_configuration(profile: str) -> Mapping[str, Any]:
    """Return the KubeSchedulerConfiguration with which Koordinator decided the recorded cases."""
    configuration: Mapping[str, Any] = yaml.safe_load((RECORDED / f"{profile}.yaml").read_text(encoding="utf-8"))
    return configuration


def _program(placement: Placement) -> Program:
    pool = NodePool(id="ordinary", cpu=8, memory="32Gi", max_nodes=4)
    cluster = Cluster(name="c", engine=Engine.KOORDINATOR, engine_version="1.8", pools=(pool,), placement=placement)
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(Queue(id="team"),),
        node_pools=(pool,),
        environments=(Environment(name="prod", clusters=(cluster,)),),
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, graph.scopes[-1])
