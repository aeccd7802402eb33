"""Kubernetes' own priority classes may be named by a policy, and are made by nobody."""

from __future__ import annotations

from datetime import date
from typing import Any, cast

import pytest

from apportion_compiler.backends import BACKENDS
from apportion_compiler.compile import Target, compile_policy
from apportion_policy import (
    DEFAULT_PRIORITY_CLASSES,
    Cluster,
    Engine,
    Environment,
    KaiSettings,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
)

_VERSIONS = {"kai": "0.17", "kueue": "0.18", "volcano": "1.16", "koordinator": "1.8", "ack": "1.21", "yunikorn": "1.8"}


@pytest.mark.parametrize("engine", BACKENDS)
def test_a_class_of_kubernetes_is_named_and_not_made(engine: str) -> None:
    system = PriorityClass(
        name="system-cluster-critical", value=2_000_000_000, preemptible=False, installed_by_engine=True
    )
    cluster = Cluster(
        name="main",
        engine=Engine(engine),
        engine_version=_VERSIONS.get(engine, "1.34"),
        kai=KaiSettings(emit_installed_priority_classes=True),
    )
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(Queue(id="infra", namespaces=("infra",), guaranteed=Resources(cpu=4, memory="8Gi", gpu=1)),),
        priority_classes=(*DEFAULT_PRIORITY_CLASSES, system),
        environments=(Environment(name="prod", clusters=(cluster,)),),
    )
    target = Target("prod", "main", engine)
    manifests = compile_policy(policy, (target,), date(2026, 11, 21)).outputs[target].manifests
    made = {cast("Any", m)["metadata"]["name"] for m in manifests if m["kind"] == "PriorityClass"}
    assert "train" in made
    assert not any(name.startswith("system-") for name in made)
