"""Consistent admission: `validate`, `bind` and `simulate` reject the same objects with the same messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.bindings.bind import adopt
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.engine_rules.workloads import workload_verdicts

from ...bindings.programs import program
from .conftest import Run

GPU = "nvidia.com/gpu"
FAULTS: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "no-limit": ({"requests": {GPU: 1}}, {}, f"{GPU}: Limit must be set for non overcommitable resources"),
    "unequal": ({"requests": {GPU: 1}, "limits": {GPU: 2}}, {}, f"must be equal to {GPU} limit of 2"),
    "broken": ({"limits": {GPU: "0.5"}}, {}, f"{GPU}: must be an integer"),
    "too-much": (
        {},
        {"gpu-fraction": "1.5"},
        "gpu-fraction annotation value must be a positive number smaller than 1.0",
    ),
    "beside": (
        {"limits": {GPU: 1}},
        {"gpu-fraction": "0.5"},
        "cannot have both GPU fraction request and whole GPU resource request/limit",
    ),
    "memory-beside": ({"limits": {GPU: 1}}, {"gpu-memory": "2000"}, "cannot request both GPU and GPU memory"),
    "memory": ({}, {"gpu-memory": "0"}, "gpu-memory annotation value must be a positive integer greater than 0"),
    "devices-alone": (
        {},
        {"gpu-fraction-num-devices": "2"},
        "cannot request multiple fractional devices without specifying fraction portion or gpu-memory",
    ),
    "mps": ({"limits": {GPU: 1}}, {"mps": "true"}, "MPS is only supported with GPU fraction request"),
    "devices": (
        {},
        {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "none"},
        "fraction count annotation value must be a positive integer greater than 0",
    ),
}
QUEUE = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec: {resources: {cpu: {quota: -1, limit: -1}, memory: {quota: -1, limit: -1}, gpu: {quota: 8, limit: -1}}}
"""


def _pod(name: str) -> dict[str, Any]:
    resources, annotations, _ = FAULTS[name]
    metadata = {
        "name": name, "namespace": "vision", "labels": {"kai.scheduler/queue": "vision"}, "annotations": annotations
    }  # fmt: skip
    container = {"name": "main", "image": "train", "resources": resources}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
    }  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_validate_and_bind_refuse_invalid_pods(name: str) -> None:
    words = FAULTS[name][2]
    assert any(words in verdict.message for verdict in workload_verdicts("kai", [_pod(name)]))
    # Of whole devices asked for in parts bind makes what the engine takes instead.
    if name == "broken":
        return
    with pytest.raises(BindingError) as refused:
        adopt(program("kai"), "vision", [_pod(name)], Options())
    assert words in str(refused.value)


def test_simulate_refuses_invalid_pods(run: Run, tmp_path: Path) -> None:
    (tmp_path / "queue.yaml").write_text(QUEUE)
    scenario = {
        "nodes": [{"pool": "g", "count": 1, "gpus": 8, "gpu_memory": 24000, "cpu": 8, "memory": "8Gi"}],
        "workloads": [
            *({"manifest": _pod(name), "duration": "1m"} for name in FAULTS),
            {"name": "short", "kind": "Pod", "queue": "vision", "gpus": 1, "annotations": {"gpu-fraction": "0.5"}},
            {"name": "good", "kind": "Pod", "queue": "vision", "gpus": 0.5, "duration": "1m"},
        ],
    }
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario))
    result = run("simulate", tmp_path / "queue.yaml", "--scenario", tmp_path / "scenario.yaml", "-o", "json")
    assert result.code == 0, result.err
    found = {each["name"]: each["outcome"] for each in json.loads(result.out)["workloads"]}
    assert found == {**dict.fromkeys((*FAULTS, "short"), "refused"), "good": "succeeded"}
    for name in list(FAULTS)[:8]:
        assert f"Pod vision/{name} was rejected: " in result.err
        assert FAULTS[name][2] in result.err
