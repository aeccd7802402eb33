"""`apportion bind`: output, and error messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Run

_POLICY = """
from apportion_policy import *

POOL = NodePool(id="h100", provider=Fixed(), cpu=64, memory="512Gi", accelerator=Accelerator(model="h100", count=8,
    memory="80Gi"), min_nodes=2, max_nodes=2, taints=(GPU_TAINT,))
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=16, memory="64Gi", min_nodes=1, max_nodes=1)

def cluster(name):
    return Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0", pools=(POOL, ORDINARY))

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="research", children=(Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu=8),
        limit=Resources(gpu=16), gpu_sharing=True),)),),
    priority_classes=DEFAULT_PRIORITY_CLASSES,
    node_pools=(POOL, ORDINARY),
    environments=(ENVIRONMENTS),
)
"""
_ONE = 'Environment(name="prod", clusters=(cluster("gpu"),)),'
_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "mine"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train"}]}}},
}


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return _policy(tmp_path, _ONE)


def _policy(folder: Path, environments: str) -> Path:
    file = folder / "policy.py"
    file.write_text(_POLICY.replace("ENVIRONMENTS", environments))
    return file


def _documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def test_template_is_printed(run: Run, policy: Path) -> None:
    made = run(
        "bind", "vision", "-k", "job", "-p", policy, "--gpus", "4", "--cpu", "500m", "--memory", "8Gi", "--workers", "2",
        "--secret", "hub:token", "--image", "acme/train", "--name", "tune", "--", "python", "train.py", "--lr", "3",
    )  # fmt: skip
    assert (made.code, made.err) == (0, "")
    (job,) = _documents(made.out)
    assert job["metadata"]["name"] == "tune"
    assert job["metadata"]["labels"]["kai.scheduler/queue"] == "vision"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "train.py", "--lr", "3"]
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "8Gi", "nvidia.com/gpu": "4"}
    assert container["env"][0]["valueFrom"]["secretKeyRef"] == {"name": "hub", "key": "token"}


def test_json_is_one_object_or_a_list(run: Run, policy: Path) -> None:
    one = json.loads(run("bind", "vision", "-k", "Job", "-p", policy, "-o", "json").out)
    assert one["kind"] == "Job"
    several = json.loads(run("bind", "vision", "-k", "Pod", "-p", policy, "--replicas", "2", "-o", "json").out)
    assert several["kind"] == "List"
    assert [item["kind"] for item in several["items"]] == ["PodGroup", "Pod", "Pod"]


def test_output_file_is_written(run: Run, policy: Path, tmp_path: Path) -> None:
    made = run("bind", "vision", "-k", "Job", "-p", policy, "-o", f"yaml={tmp_path / 'job.yaml'}")
    assert (made.code, made.out) == (0, "")
    assert _documents((tmp_path / "job.yaml").read_text())[0]["kind"] == "Job"


def test_existing_manifests_are_bound(run: Run, policy: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}],
    }
    file.write_text(yaml.safe_dump_all([listed, _JOB]))
    made = run("bind", "vision", "--from", file, "-p", policy)
    assert (made.code, made.err) == (0, "")
    config, job = _documents(made.out)
    assert config == listed["items"][0]
    assert job["metadata"]["namespace"] == "vision"
    assert job["metadata"]["labels"]["kai.scheduler/queue"] == "vision"


def test_manifests_are_read_from_stdin(run_process: Any, policy: Path) -> None:
    made = run_process("bind", "vision", "--from", "-", "-p", policy, stdin=yaml.safe_dump(_JOB))
    assert made.code == 0, made.err
    assert _documents(made.out)[0]["metadata"]["labels"]["kai.scheduler/queue"] == "vision"


def test_unschedulable_workload_is_warned_about(run: Run, policy: Path) -> None:
    made = run("bind", "vision", "-k", "Job", "-p", policy, "--gpus", "8", "--workers", "3")
    assert made.code == 0
    assert (
        made.err
        == "apportion: warning: vision-job requests 24 GPUs, but queue vision is limited to 16 GPUs; the workload would never start\n"
        "apportion: note: vision-job: each pod with 8 GPUs requests 1 cpu and 4Gi memory, but its share of a machine in "
        "pool h100 is 64 cpu and 512Gi memory: pass --cpu and --memory to request more\n"
    )
    assert _documents(made.out)[0]["kind"] == "Job"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["vision"], "specify what to bind: --kind Job for a template, or --from FILE"),
        (["vision", "-k", "Job", "--from", "mine.yaml"], "specify what to bind"),
        (["vision", "--from", "mine.yaml", "--gpus", "1"], "--from uses an existing workload"),
        (["vision", "--from", "mine.yaml", "--", "python"], "--from uses an existing workload"),
        (["visoin", "-k", "Job"], "queue visoin does not exist; did you mean vision?"),
        (
            ["research", "-k", "Job"],
            "queue research has child queues and cannot run workloads; use one of its leaves: vision",
        ),
        (
            ["vision", "-k", "Job", "-n", "speech"],
            "namespace speech does not belong to queue vision, whose namespaces are vision",
        ),
        (["vision", "-k", "Jub"], "unknown kind Jub; did you mean Job?"),
        (["vision", "-k", "Job", "--gpus", "many"], '"many" is not a GPU quantity'),
        (["vision", "-k", "Job", "--gpus", "unlimited"], "a resource request cannot be unlimited"),
        (["vision", "-k", "Job", "--gpus", "-1"], "-1 is negative"),
        (["vision", "-k", "Job", "--secret", "hub"], "`hub` is not a Secret reference of the form NAME:KEY"),
        (["vision", "-k", "Job", "--workers", "0"], "0 is not in the range"),
        (["vision", "-k", "Job", "-e", "prd"], "environment prd does not exist; did you mean prod?"),
        (["vision", "-k", "Job", "-e", "prod", "--cluster", "cpu"], "environment prod has no cluster cpu"),
    ],
)
def test_invalid_options_are_usage_errors(run: Run, policy: Path, arguments: list[str], says: str) -> None:
    refused = run("bind", "-p", policy, *arguments)
    assert refused.code == 2
    assert refused.out == ""
    assert says in refused.err


def test_ambiguous_cluster_must_be_named(run: Run, tmp_path: Path) -> None:
    two = 'Environment(name="dev", clusters=(cluster("a"),)), Environment(name="prod", clusters=(cluster("b"), cluster("c"))),'
    policy = _policy(tmp_path, two)
    unnamed = run("bind", "vision", "-k", "Job", "-p", policy)
    assert unnamed.code == 2
    assert "specify an environment: --env dev" in unnamed.err
    several = run("bind", "vision", "-k", "Job", "-p", policy, "-e", "prod")
    assert several.code == 2
    assert "choose one: --cluster b" in several.err
    assert run("bind", "vision", "-k", "Job", "-p", policy, "-e", "prod", "--cluster", "c").code == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "mine.yaml is not a readable file"),
        (b"", "is empty"),
        (b"a: b\n---\n[1, 2]", "mine.yaml:1: not a Kubernetes object"),
        (b"a:\n- b\n- {a: [}", "mine.yaml:3:8: did not find expected"),
        (b"# one\n\xff\xfe", "mine.yaml:2: invalid UTF-8 at byte offset 6"),
        (b"[" * 100_000, "is nested deeper than"),
    ],
)
def test_unreadable_file_is_reported(run: Run, policy: Path, tmp_path: Path, content: bytes | None, says: str) -> None:
    file = tmp_path / "mine.yaml"
    if content is not None:
        file.write_bytes(content)
    refused = run("bind", "vision", "--from", file, "-p", policy)
    assert refused.code == 3
    assert says in refused.err


def test_policy_with_errors_is_refused(run: Run, tmp_path: Path) -> None:
    policy = _policy(tmp_path, _ONE)
    policy.write_text(policy.read_text().replace("guaranteed=Resources(gpu=8)", "guaranteed=Resources(gpu=64)"))
    refused = run("bind", "vision", "-k", "Job", "-p", policy)
    assert refused.code == 1
    assert refused.out == ""
    assert "AP202" in refused.err
