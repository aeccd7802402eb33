"""`apportion fit` on KAI with shards: the workload's GPU model or node pool determines the shard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.review.fit_clusters import job

Run = Callable[..., Any]

POLICY = """\
from apportion_policy import Accelerator, Cluster, Environment, Fixed, NodePool, Organisation, Policy, Queue, Resources


def pool(model, nodes):
    own = Accelerator(model=model, count=8)
    return NodePool(
        id=model, provider=Fixed(), cpu=96, memory="1Ti", accelerator=own, min_nodes=nodes, max_nodes=nodes
    )


POOLS = (pool("h100", 2), pool("a100", 4))
SPEECH = Queue(
    id="speech",
    namespaces=("speech",),
    guaranteed=Resources(gpu={"h100": 8, "a100": 8}),
    limit=Resources(gpu={"h100": 8, "a100": 24}),
)
VISION = Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 8, "a100": 8}))
POLICY = Policy(
    organisation=Organisation(name="acme"),
    node_pools=POOLS,
    queues=(SPEECH, VISION),
    environments=(
        Environment(
            name="prod", clusters=(Cluster(name="gpu", engine="kai", engine_version="0.17.0", pools=POOLS),)
        ),
    ),
)
"""
LABEL = "kai.scheduler/node-pool"


def _node(model: str, number: int) -> dict[str, Any]:
    held = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    name = f"{model}-{number}"
    labels = {
        "apportion.dev/node-pool": model,
        "apportion.dev/gpu-model": model,
        LABEL: model,
        "kubernetes.io/hostname": name,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-11-30T00:54:20Z"},
        "status": {"allocatable": held, "capacity": held, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _shard(name: str, partition: str) -> dict[str, Any]:
    spec = {"partitionLabelValue": partition} if partition else {}
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": name}, "spec": spec}


SHARDS = [_shard("default", ""), _shard("a100", "a100"), _shard("h100", "h100")]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.py").write_text(POLICY)
    Path("job.yaml").write_text(yaml.safe_dump(job("tts", "speech", 2, 8)))
    nodes = [_node("h100", 0), *(_node("a100", number) for number in range(4))]
    Path("cluster.json").write_text(json.dumps({"items": [*nodes, *SHARDS]}))


def _fit(run: Run, *more: str) -> Any:
    return run("fit", "policy.py", "-f", "job.yaml", "--as-of", "2026-11-24", *more)


@pytest.mark.parametrize("snapshot", [(), ("--snapshot", "cluster.json")], ids=["idle", "snapshot"])
def test_gpu_model_determines_the_shard(run: Run, snapshot: tuple[str, ...]) -> None:
    result = _fit(run, "--gpu-model", "a100", *snapshot)
    assert (result.code, result.err) == (0, "")
    assert "pool a100: 2 pods on" in result.out


def test_quota_of_the_shard_is_the_smallest_change(run: Run) -> None:
    result = _fit(run, "--gpu-model", "h100")
    assert result.code == 1
    (line,) = [line for line in result.out.splitlines() if line.lstrip().startswith("more quota")]
    assert line.split(maxsplit=2)[2] == "limit of speech: 8 H100 -> 16 H100"


def test_usage_of_the_queue_in_the_shard_counts(run: Run) -> None:
    marks = {"labels": {LABEL: "h100"}, "namespace": "speech", "creationTimestamp": "2026-11-30T00:54:10Z"}
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {**marks, "name": "pg-asr"},
        "spec": {"queue": "speech-h100", "minMember": 1},
    }
    gpus = {"nvidia.com/gpu": "8"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**marks, "name": "asr", "annotations": {"pod-group-name": "pg-asr"}},
        "spec": {
            "schedulerName": "kai-scheduler",
            "nodeName": "h100-0",
            "containers": [{"name": "main", "resources": {"requests": gpus, "limits": gpus}}],
        },
        "status": {"phase": "Running", "startTime": "2026-11-30T00:54:10Z"},
    }
    nodes = [_node("h100", number) for number in range(2)]
    Path("cluster.json").write_text(json.dumps({"items": [*nodes, *SHARDS, group, pod]}))
    Path("job.yaml").write_text(yaml.safe_dump(job("tts", "speech", 1, 8)))
    result = _fit(run, "--gpu-model", "h100", "--snapshot", "cluster.json")
    assert result.code == 1
    assert "limit of speech: 8 H100 -> 16 H100" in result.out


def test_node_pool_of_a_bound_workload_determines_the_shard(run: Run) -> None:
    made = job("tts", "speech", 2, 8, metadata={"labels": {"kai.scheduler/queue": "speech-a100", LABEL: "a100"}})
    made["spec"]["template"]["metadata"] = {"labels": made["metadata"]["labels"]}
    made["spec"]["template"]["spec"]["schedulerName"] = "kai-scheduler"
    Path("job.yaml").write_text(yaml.safe_dump(made))
    result = _fit(run, "--snapshot", "cluster.json")
    assert (result.code, result.err) == (0, "")
    assert "pool a100: 2 pods on" in result.out


def test_shard_that_does_not_schedule_the_workload_is_rejected(run: Run) -> None:
    result = _fit(run, "--gpu-model", "a100", "--shard", "h100")
    assert result.code == 3
    assert result.err == (
        "apportion: error: Job tts has label kai.scheduler/node-pool: a100, so shard a100 schedules it, not h100\n"
        "  hint: omit --shard, or choose the GPU model with --gpu-model\n"
    )


def test_node_pool_without_a_shard_is_rejected(run: Run) -> None:
    made = job("tts", "speech", 2, 8, metadata={"labels": {"kai.scheduler/queue": "speech-a100", LABEL: "b200"}})
    Path("job.yaml").write_text(yaml.safe_dump(made))
    result = _fit(run)
    assert result.code == 3
    assert "no shard schedules such workloads; choose one of a100, default or h100" in result.err
