"""`import`: raw objects become a valid policy that compiles to the same objects."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread

import pytest
import yaml

from .conftest import Run

ACME = Path(__file__).parents[3] / "examples" / "acme"
QUEUES = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: research}
spec:
  resources:
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 16, limit: -1, overQuotaWeight: 1}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec:
  parentQueue: research
  resources:
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 8, limit: 12.5, overQuotaWeight: 1}
  other: 1
"""


@pytest.fixture(autouse=True)
def queues() -> Path:
    file = Path("queues.yaml")
    file.write_text(QUEUES, encoding="utf-8")
    return file


def test_hand_written_queues_become_a_valid_policy(run: Run) -> None:
    result = run("import", "--from", "kai", "queues.yaml", "--out", "acme", "--owner", "@acme/platform")
    assert result.code == 1
    assert "wrote acme/policy.py" in result.out
    assert "apportion: Queue vision: `spec.other: 1` is dropped" in result.err
    team = Path("acme/teams/research.py").read_text(encoding="utf-8")
    assert 'limit=Resources(gpu="12.5")' in team
    assert 'Organisation(name="acme", owner="@acme/platform")' in Path("acme/policy.py").read_text(encoding="utf-8")
    checked = json.loads(run("validate", "acme", "-o", "json").out)
    assert [(f["code"], f["severity"]) for f in checked["findings"] if f["severity"] == "error"] == []


@pytest.mark.parametrize(
    ("engine", "cluster"),
    [
        ("kai", "gpu-eu"),
        ("kueue", "queue-asia"),
        ("volcano", "batch-us"),
        ("koordinator", "rack"),
        ("ack", "hangzhou"),
        ("yunikorn", "burst-us"),
    ],
)
def test_imported_policy_compiles_to_the_same_objects(run: Run, engine: str, cluster: str) -> None:
    """Through the command alone: compile, import, and compile in the policy's own confinement."""
    as_of = ("--as-of", "2026-11-21")
    before = ("compile", ACME, "--env", "staging", "--target", engine, "--target", "native", "--out", "before")
    assert run(*before, *as_of).code == 0
    trees = [Path("before/staging", cluster, target) for target in (engine, "native")]
    judged = json.loads(run("validate", *(part for tree in trees for part in ("--manifests", tree)), "-o", "json").out)
    assert [finding for finding in judged["findings"] if finding["severity"] == "error"] == []
    options = ("--organisation", "acme", "--owner", "@acme/platform", "--cluster", cluster)
    assert run("import", "--from", engine, *trees, "--out", "policy", *options).code == 0
    assert run("compile", "policy", "--out", "after", *as_of).code == 0
    for tree in trees:
        assert _objects(Path("after", *tree.parts[1:])) == _objects(tree)


def test_existing_files_are_not_overwritten(run: Run) -> None:
    arguments = ("import", "--from", "kai", "queues.yaml", "--out", "acme", "--accept-loss")
    assert run(*arguments).code == 0
    Path("acme/teams/other.py").write_text("", encoding="utf-8")
    refused = run(*arguments)
    assert refused.code == 3
    assert "acme already contains policy.py, teams/research.py; nothing was written" in refused.err
    assert "teams/ contains other files, which are part of the policy: other.py" in run(*arguments, "--force").err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: {b", "queues.yaml:1: "),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "no KAI Scheduler queues in queues.yaml"),
        (
            QUEUES.replace("  other: 1", "  reclaimMinRuntime: soon"),
            'Queue vision: spec.reclaimMinRuntime: "soon" is not',
        ),
    ],
)
def test_unreadable_input_is_one_sentence(run: Run, queues: Path, text: str, sentence: str) -> None:
    queues.write_text(text, encoding="utf-8")
    result = run("import", "--from", "kai", queues, "--out", "acme")
    assert result.code == 3
    assert sentence in result.err
    assert not Path("acme").exists()


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--owner", "no owner", '--owner: "no owner" is not an owner such as'),
        (
            "--environment",
            "Prod Env",
            "`Prod Env` is not a valid name: use lowercase letters, digits and dashes, and start and end with a letter or digit (for example `prod-env`)",
        ),
        (
            "--cluster",
            "a/b",
            "`a/b` is not a valid name: use lowercase letters, digits and dashes, and start and end with a letter or digit (for example `a-b`)",
        ),
    ],
)
def test_invalid_name_is_refused(run: Run, option: str, value: str, sentence: str) -> None:
    result = run("import", "--from", "kai", "queues.yaml", "--out", "acme", option, value)
    assert result.code == 2
    assert sentence in result.err
    assert not Path("acme").exists()


def test_named_pipe_is_read_and_folder_name_quoted(run: Run, queues: Path) -> None:
    os.mkfifo("pipe")
    writer = Thread(target=Path("pipe").write_bytes, args=(queues.read_bytes(),))
    writer.start()
    result = run("import", "--from", "kai", "pipe", "--out", "my policy", "--accept-loss")
    writer.join()
    assert result.code == 0
    assert "apportion validate 'my policy'" in result.out


def _objects(tree: Path) -> dict[tuple[str, str, str], object]:
    found: dict[tuple[str, str, str], object] = {}
    for file in sorted(tree.rglob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if "metadata" in document:
                metadata = document["metadata"]
                found[document["kind"], metadata.get("namespace", ""), metadata["name"]] = document
    assert found
    return found


def test_unmanaged_objects_are_listed(run: Run) -> None:
    jobs = "".join(
        f"---\n{{apiVersion: batch/v1, kind: Job, metadata: {{name: j{number}, namespace: v}}}}\n"
        for number in range(12)
    )
    beside = "---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: rq, namespace: v}, spec: {hard: {cpu: 10}}}\n"
    Path("queues.yaml").write_text(QUEUES.replace("  other: 1\n", "") + beside + jobs, encoding="utf-8")
    result = run("import", "--from", "kai", "queues.yaml", "--out", "acme")
    assert result.code == 0
    assert "apportion: ResourceQuota: not part of the policy and left unchanged: v/rq\n" in result.err
    assert "v/j8, v/j9 and 2 more\n" in result.err


def test_objects_to_be_overwritten_are_listed(run: Run) -> None:
    mine = "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: apportion-team}, rules: [{verbs: [get], resources: [x], apiGroups: ['']}]}\n"
    ours = QUEUES.replace("  other: 1\n", "").replace(
        "{name: research}", "{name: research, labels: {app.kubernetes.io/managed-by: apportion}}"
    )
    Path("queues.yaml").write_text(ours + mine, encoding="utf-8")
    result = run("import", "--from", "kai", "queues.yaml", "--out", "acme")
    assert "apportion: ClusterRole apportion-team: `rules[0].resources[0]: x` is replaced by" in result.err
    assert result.code == 1


def test_child_order_is_not_a_loss(run: Run) -> None:
    leaves = ", ".join(
        f"{{name: {name}, namespaces: [{name}], min: {{cpu: {cpu}}}, max: {{cpu: 40}}}}"
        for name, cpu in (("video", 20), ("nlp", 12))
    )
    Path("tree.yaml").write_text(
        "apiVersion: scheduling.sigs.k8s.io/v1beta1\nkind: ElasticQuotaTree\n"
        "metadata: {name: elasticquotatree, namespace: kube-system}\n"
        f"spec: {{root: {{name: root, min: {{cpu: 40}}, max: {{cpu: 40}}, children: [{leaves}]}}}}\n",
        encoding="utf-8",
    )
    assert run("import", "--from", "ack", "tree.yaml", "--out", "acme").code == 0
