"""`--gpu-model` for a manifest that names no model: `bind --from` writes it, and `fit` decides with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Run

POLICY = """\
apiVersion: apportion.dev/v1
kind: Policy
organisation: {name: acme, owner: "@acme/platform"}
node_pools:
- {id: a, provider: {kind: fixed}, cpu: 96, memory: 900Gi, accelerator: {model: a100, count: 8}, min_nodes: 2, max_nodes: 2}
- {id: l, provider: {kind: fixed}, cpu: 96, memory: 900Gi, accelerator: {model: l40s, count: 4}, min_nodes: 2, max_nodes: 2}
queues:
- {id: x, namespaces: [x], guaranteed: {gpu: {a100: 8, l40s: 4}}}
environments:
- name: prod
  clusters: [{name: one, engine: ENGINE, engine_version: "VERSION", pools: [a, l]}]
"""
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "x"},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}}],
            }
        }
    },
}
LABEL = "apportion.dev/gpu-model"


@pytest.fixture(params=[("kueue", "0.18.3"), ("volcano", "1.16.0")], ids=["kueue", "volcano"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a policy of two GPU models and a Job."""
    engine, version = request.param
    (tmp_path / "policy.yaml").write_text(POLICY.replace("ENGINE", engine).replace("VERSION", version))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(JOB))
    return tmp_path


def test_bind_selects_the_model_for_a_manifest(run: Run, folder: Path) -> None:
    told = run("bind", "x", "--from", "job.yaml", "-p", "policy.yaml", "--gpu-model", "a100")
    made = next(each for each in yaml.safe_load_all(told.out) if each["kind"] == "Job")
    assert made["spec"]["template"]["spec"]["nodeSelector"] == {LABEL: "a100"}


def test_another_model_in_the_manifest_is_refused(run: Run, folder: Path) -> None:
    job = yaml.safe_load((folder / "job.yaml").read_text())
    job["spec"]["template"]["spec"]["nodeSelector"] = {LABEL: "l40s"}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    told = run("bind", "x", "--from", "job.yaml", "-p", "policy.yaml", "--gpu-model", "a100")
    assert told.code != 0
    assert f"its nodeSelector has {LABEL}: l40s, but --gpu-model is a100" in told.err


def test_fit_decides_with_the_model(run: Run, folder: Path) -> None:
    """No machine has eight L40S, and two have eight A100."""
    codes = {
        model: run("fit", "policy.yaml", "-f", "job.yaml", "--queue", "x", "--gpu-model", model).code
        for model in ("a100", "l40s", "b200")
    }
    assert codes == {"a100": 0, "l40s": 1, "b200": 2}
