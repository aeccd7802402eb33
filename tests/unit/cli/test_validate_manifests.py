"""`validate --manifests`: input files, report formats, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

QUEUE = """\
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: vision}
spec:
  resources:
    cpu: {quota: 0, limit: -1, overQuotaWeight: 1}
    memory: {quota: 0, limit: -1, overQuotaWeight: 1}
    gpu: {quota: 8, limit: 4, overQuotaWeight: 1}
"""
FOUND = (
    "queues/vision.yaml:8: warning[AP702] KAI Scheduler does not apply `spec.resources.gpu.quota` as written: "
    "quota guarantees 8 GPUs, but limit allows only 4 GPUs"
)


@pytest.fixture(autouse=True)
def folder() -> Path:
    folder = Path("queues")
    folder.mkdir()
    (folder / "vision.yaml").write_text(QUEUE, encoding="utf-8")
    (folder / "values.yaml").write_text("global: {gpuSharing: true}\n", encoding="utf-8")
    hidden = folder / ".cache"
    hidden.mkdir()
    (hidden / "old.yaml").write_text("{", encoding="utf-8")
    return folder


def test_folder_is_validated_as_one_cluster(run: Run) -> None:
    result = run("validate", "--manifests", "queues")
    assert result.code == 0
    assert result.out.splitlines()[:3] == [
        FOUND,
        "    8 |     gpu: {quota: 8, limit: 4, overQuotaWeight: 1}",
        "      |           ^^^^^^^^",
    ]
    assert result.out.splitlines()[-1] == "1 warning in 1 object"
    assert run("validate", "--manifests", "queues", "--fail-on", "warning").code == 1


def test_rendered_clusters_are_validated_separately(run: Run) -> None:
    """The same queue in two clusters is no queue twice, and a parent in one is none for a child in the other."""
    for cluster, parent in (("a", ""), ("b", "  parentQueue: research\n")):
        tree = Path("rendered/prod", cluster, "kai")
        tree.mkdir(parents=True)
        (tree / "inventory.json").write_text("{}", encoding="utf-8")
        (tree / "queue.yaml").write_text(QUEUE.replace("limit: 4", "limit: 8") + parent, encoding="utf-8")
    research = QUEUE.replace("vision", "research").replace("limit: 4", "limit: 8")
    Path("rendered/prod/a/kai/research.yaml").write_text(research, encoding="utf-8")
    (line,) = run("validate", "--manifests", "rendered", "-q").out.splitlines()
    assert line.startswith(
        "rendered/prod/b/kai/queue.yaml:9: warning[AP702] KAI Scheduler does not apply `spec.parentQueue` as written"
    )


def test_engine_option(run: Run) -> None:
    assert run("validate", "--manifests", "queues", "--engine", "native", "-q").out == ""
    assert run("validate", "--engine", "kai").code == 2


def test_policy_options_conflict_with_manifests(run: Run) -> None:
    for option in (("policy.py",), ("--fix",), ("--env", "prod")):
        assert run("validate", "--manifests", "queues", *option).code == 2


def test_every_format_reports_the_same_finding(run: Run) -> None:
    report = json.loads(run("validate", "--manifests", "queues", "-o", "json").out)
    (finding,) = report["findings"]
    assert report["reached"] == "manifests"
    assert (finding["code"], finding["address"]) == ("AP702", "Queue vision")
    assert finding["location"] == {"file": "queues/vision.yaml", "line": 8, "column": 11, "endLine": 8, "endColumn": 19}
    sarif = json.loads(run("validate", "--manifests", "queues", "-o", "sarif").out)
    (result,) = sarif["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 11
    assert "line=8" in run("validate", "--manifests", "queues", "-o", "github").out
    assert "AP702" in run("validate", "--manifests", "queues", "-o", "junit").out


def test_kubectl_output_is_read_from_stdin(run_process) -> None:
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "vision"},
        "spec": {"parentQueue": "research"},
    }
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [queue]}, indent="\t")
    result = run_process("validate", "--manifests", "-", "-q", stdin=listed)
    assert result.code == 1
    assert [line.partition(" KAI")[0] for line in result.out.splitlines()] == [
        "<stdin>:11: error[AP701]",
        "<stdin>:12: warning[AP702]",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: &a [x, x]\n" + "".join(f"{c}: &{c} [{', '.join([f'*{b}'] * 9)}]\n" for b, c in zip("abcdefgh", "bcdefghi", strict=True)), "expands to more than"),
        ("[" * 500 + "]" * 500, "nested deeper than"),
        ("a: &a {b: *a}", "alias"),
        ("a: [1, 2", "expected ',' or ']'"),
        ("a: .inf", "cannot be represented as a JSON number"),
        ("? [a]\n: b", "a mapping key is not a string"),
    ],
)  # fmt: skip
def test_hostile_document_is_one_finding(run: Run, folder: Path, text: str, sentence: str) -> None:
    file = folder / "hostile.yaml"
    file.write_text(text, encoding="utf-8")
    result = run("validate", "--manifests", file, "-q")
    assert result.code == 1
    (line,) = result.out.splitlines()
    assert "error[AP705]" in line
    assert sentence in line


def test_invalid_utf_8_is_a_finding(run: Run, folder: Path) -> None:
    (folder / "latin.yaml").write_bytes(b"a: b\nc: caf\xe9\n")
    assert (
        "latin.yaml:2: error[AP705] invalid UTF-8 at byte offset 11" in run("validate", "--manifests", folder, "-q").out
    )


def test_no_kubernetes_object_is_an_error(run: Run, folder: Path) -> None:
    result = run("validate", "--manifests", folder / "values.yaml")
    assert (result.code, result.out) == (3, "")
    assert "no Kubernetes object" in result.err
    assert run("validate", "--manifests", "nowhere").code == 3
