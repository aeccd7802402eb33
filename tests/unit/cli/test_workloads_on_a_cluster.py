"""`validate --manifests`: workloads checked on a cluster, by a policy or by its rendered tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_cli.main import main

from .conftest import Run

ENGINES = {"kai": "0.17.0", "kueue": "0.19.0"}
POLICY = """\
organisation: {name: acme, owner: "@acme/platform"}
queues:
  - id: research
    children:
      - {id: vision, namespaces: [vision], limit: {cpu: 64, memory: 256Gi, gpu: 12}, priority_classes: [train]}
      - {id: speech, namespaces: [speech]}
node_pools:
  - {id: h100, provider: {kind: fixed}, cpu: 96, memory: 1Ti, accelerator: {model: h100, count: 8}, min_nodes: 4, max_nodes: 4}
environments:
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy")
    clusters = "".join(
        f'  - {{name: {engine}, clusters: [{{name: main, engine: {engine}, engine_version: "{version}", pools: [h100]}}]}}\n'
        for engine, version in ENGINES.items()
    )
    (folder / "policy.yaml").write_text(POLICY + clusters)
    assert main(["compile", str(folder), "--out", str(folder / "rendered")]) == 0
    return folder


def _job(run: Run, policy: Path, engine: str) -> Any:
    """Return what `bind` writes for a job of two GPUs."""
    bound = run("bind", "vision", "-k", "Job", "-p", policy, "--env", engine, "--gpus", "2", "-o", "json")
    assert bound.code == 0, bound.err
    return yaml.safe_load(bound.out)


@pytest.mark.parametrize("by_tree", [False, True], ids=["policy", "tree"])
def test_uncovered_resource_is_found_despite_foreign_local_queue(run: Run, policy: Path, by_tree: bool) -> None:
    job = _job(run, policy, "kueue")
    amounts = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    for listed in amounts.values():
        listed["rdma/hca"] = "1"
    theirs = {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "theirs", "namespace": "theirs"},
        "spec": {"clusterQueue": "vision"},
    }  # fmt: skip
    Path("theirs.yaml").write_text(yaml.safe_dump(theirs))
    Path("job.yaml").write_text(yaml.safe_dump(job))
    on = ("--manifests", policy / "rendered/kueue/main") if by_tree else ("-p", policy, "--env", "kueue")
    told = run("validate", "--manifests", "job.yaml", "--manifests", "theirs.yaml", *on, "-q")
    assert "covers rdma/hca" in told.out
    assert "LocalQueue" not in told.out


def test_ambiguous_cluster_is_refused(run: Run, policy: Path) -> None:
    Path("job.yaml").write_text(yaml.safe_dump(_job(run, policy, "kueue")))
    on_files = ("validate", "--manifests", "job.yaml")
    for more, said in (
        (("--manifests", policy / "rendered"), "the rendered trees belong to more than one; choose one"),
        (("-p", policy, "--env", "kueue", "--env", "kai"), "pass --env once"),
        (("-p", policy, "--env", "kueue", "--manifests", policy / "rendered/kueue"), "pass only one of them"),
        (("--env", "kueue"), "require -p POLICY"),
        ((policy,), "with --manifests, pass the policy as -p"),
    ):
        told = run(*on_files, *more)
        assert (told.code, said in told.err) == (2, True), told


@pytest.mark.parametrize("admission", ["deny", "warn", "audit"])
@pytest.mark.parametrize("engine", ENGINES)
def test_missing_queue_follows_the_admission_action(run: Run, policy: Path, engine: str, admission: str) -> None:
    job = _job(run, policy, engine)
    for labelled in (job, job["spec"]["template"]):
        labelled.get("metadata", {}).pop("labels", None)
    job["spec"].pop("suspend", None)
    Path("job.yaml").write_text(yaml.safe_dump(job))
    Path("policy.yaml").write_text(
        (policy / "policy.yaml").read_text().replace(f"name: {engine}, clusters", f"name: {engine}, admission: {admission}, clusters")
    )  # fmt: skip
    told = run("validate", "--manifests", "job.yaml", "-p", "policy.yaml", "--env", engine, "-q")
    codes = sorted(
        {line.split("[")[1][:5] for line in told.out.splitlines() if ": error[" in line or "warning[" in line}
    )
    if admission == "deny":
        assert (told.code, "AP701" in codes) == (1, True), told.out
        assert "is missing; set it to" in told.out
        assert "runs past Kueue" not in told.out
    else:
        let_in = "admit the workload with a warning" if admission == "warn" else "admit the workload and audit it"
        assert (told.code, "AP701" in codes) == (0, False), told.out
        assert let_in in " ".join(told.out.split())


def test_unknown_queue_is_one_finding(run: Run, policy: Path) -> None:
    job = _job(run, policy, "kueue")
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "visoin"
    Path("job.yaml").write_text(yaml.safe_dump(job))
    told = run("validate", "--manifests", "job.yaml", "-p", policy, "--env", "kueue", "-q")
    assert told.out.count("visoin") == 1, told.out
    assert "create the workload in a namespace of" not in told.out
