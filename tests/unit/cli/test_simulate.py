"""`simulate --cycle`, and `explain` for a snapshot: output to the user."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from apportion_runtime.snapshots.document import snapshot_document, to_json
from apportion_runtime.snapshots.document_loader import Source
from apportion_runtime.snapshots.snapshot_reader import read_snapshot

from .conftest import Run

BUSY = Path(__file__).parents[3] / "examples/snapshots/busy.yaml"


def test_text_shows_decisions_and_reasons(run: Run) -> None:
    result = run("simulate", "--cycle", BUSY)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[:4] == [
        "Cycle at 2026-11-21T08:00:00Z",
        "4 nodes, 6 queues, 15 jobs, 28 pods",
        "actions: allocate, consolidation, reclaim, preempt, stalegangeviction",
        "1 pod bound, 4 waiting for resources to be released, 3 evicted, 11 jobs pending",
    ]
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line and not line.startswith(" ")][4:] == [
        "Bound",
        "Waiting for resources to be released",
        "Evicted",
        "Pending",
        "Queues",
    ]
    assert "    queue vision uses 12 GPUs, more than its fair share of 6 GPUs" in lines


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ("over-limit", "queue search would exceed its limit"),
        ("over-guarantee", "non-preemptible jobs would exceed queue"),
        ("over-fair-share", "cannot reclaim from other queues"),
        ("too-large", "Max GPU resources available in a single node"),
        ("elsewhere", "3 do not match the pod's node selector"),
        ("incomplete", "the job requires 4 pods to start but has 2"),
        ("gated", "(1 gated)"),
        ("lost-queue", "queue speech does not exist"),
        ("delayed", "its preemption delay of 2h0m0s ends in"),
        ("lost-part", "1 pod belongs to sub-group workers, which the pod group does not define"),
    ],
)
def test_pending_reasons_are_explained(run: Run, job: str, why: str) -> None:
    result = run("explain", "job", job, "--snapshot", BUSY)
    assert result.code == 0
    flat = " ".join(result.out.split())
    assert why in flat
    assert max(map(len, result.out.splitlines())) <= 80


def test_findings_are_printed_on_stderr(run: Run) -> None:
    result = run("simulate", "--cycle", BUSY)
    assert "busy.yaml:" in result.err
    assert "warning[AP806] queue `speech` does not exist; the pod group stays pending" in result.err
    assert "2 warnings" in result.err
    assert run("simulate", "--cycle", BUSY, "--fail-on", "warning").code == 1


def test_json_decisions(run: Run) -> None:
    result = run("simulate", "--cycle", BUSY, "-o", "json")
    document = json.loads(result.out)
    assert (document["apiVersion"], document["kind"]) == ("apportion.dev/v1", "Decisions")
    assert [made["pod"] for made in document["binds"]] == ["bid-0"]
    assert {made["node"] for made in document["pipelines"]} == {"gpu-1", "gpu-2"}
    evicted = document["evictions"][0]
    assert {key: evicted[key] for key in ("pod", "queue", "action", "forJob", "rule")} == {
        "pod": "segment-5",
        "queue": "vision",
        "action": "reclaim",
        "forJob": "nlp/pretrain",
        "rule": "over-fair-share",
    }
    assert {key: evicted["victim"]["gpu"][key] for key in ("quota", "fairShare", "before")} == {
        "quota": 4.0,
        "fairShare": 6.0,
        "before": 12.0,
    }
    waiting = {job["job"]: [reason["reason"] for reason in job["reasons"]] for job in document["pending"]}
    assert waiting["lost-queue"] == ["UnusableQueue"]
    shares = {queue["queue"]: queue["gpu"]["fairShare"] for queue in document["queues"]}
    assert shares == {"ads": 6.0, "nlp": 10.0, "products": 8.0, "science": 16.0, "search": 2.0, "vision": 6.0}
    assert yaml.safe_load(run("simulate", "--cycle", BUSY, "-o", "yaml").out) == document


def test_format_and_order_do_not_affect_decisions(run: Run, tmp_path: Path) -> None:
    wanted = run("simulate", "--cycle", BUSY, "-o", "json").out
    documents = list(yaml.safe_load_all(BUSY.read_text(encoding="utf-8")))
    half = len(documents) // 2
    folder = tmp_path / "cluster"
    folder.mkdir()
    (folder / "b.json").write_text(json.dumps({"kind": "List", "items": documents[half:][::-1]}), encoding="utf-8")
    (folder / "c.yaml").write_text(yaml.safe_dump_all(documents[:half]), encoding="utf-8")
    assert run("simulate", "--cycle", folder, "-o", "json").out == wanted
    read = read_snapshot([Source("busy", BUSY.read_text(encoding="utf-8"))])
    assert read.snapshot is not None
    own = tmp_path / "snapshot.json"
    own.write_text(to_json(snapshot_document(read.snapshot, read.settings)), encoding="utf-8")
    assert run("simulate", "--cycle", own, "-o", "json").out == wanted


def test_snapshot_is_read_from_stdin(run_process: Run) -> None:
    result = run_process("simulate", "--cycle", "-", "-o", "json", stdin=BUSY.read_text(encoding="utf-8"))
    assert result.code == 0
    assert len(json.loads(result.out)["pending"]) == 11
    assert "<stdin>:" in result.err


def test_actions_option(run: Run) -> None:
    document = json.loads(run("simulate", "--cycle", BUSY, "--actions", "allocate", "-o", "json").out)
    assert document["actions"] == ["allocate"]
    assert document["evictions"] == []
    refused = run("simulate", "--cycle", BUSY, "--actions", "alocate")
    assert refused.code == 2
    assert "is not one of all, allocate" in refused.err


def test_now_option(run: Run) -> None:
    later = run("explain", "job", "delayed", "--snapshot", BUSY, "--now", "2026-11-21T10:00:00Z")
    assert "preemption delay" not in later.out
    refused = run("simulate", "--cycle", BUSY, "--now", "today")
    assert refused.code == 2
    assert "is not a time such as" in refused.err


def test_explain_queue(run: Run) -> None:
    result = run("explain", "queue", "nlp", "--snapshot", BUSY)
    assert result.code == 0
    assert "  GPUs: fair share 10 GPUs of the 16 GPUs in queue science" in result.out.splitlines()
    document = json.loads(run("explain", "queue", "nlp", "--snapshot", BUSY, "-o", "json").out)
    assert [level["queue"] for level in document["levels"]] == ["science", "nlp"]


def test_evicted_job_names_the_preemptor(run: Run) -> None:
    result = run("explain", "job", "vision/segment", "--snapshot", BUSY)
    assert "reclaim for job nlp/pretrain in queue nlp" in " ".join(result.out.split())
    document = json.loads(run("explain", "job", "vision/segment", "--snapshot", BUSY, "-o", "json").out)
    assert [made["pod"] for made in document["evictions"]] == ["segment-5", "segment-6", "segment-7"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("job", "pretrian"), "job pretrian does not exist; did you mean pretrain?"),
        (("queue", "visoin"), "queue visoin does not exist; did you mean vision?"),
    ],
)
def test_unknown_names_suggest_the_nearest(run: Run, arguments: tuple[str, str], said: str) -> None:
    result = run("explain", *arguments, "--snapshot", BUSY)
    assert result.code == 2
    assert said in result.err


def test_explain_job_requires_a_snapshot(run: Run) -> None:
    result = run("explain", "job", "pretrain")
    assert result.code == 2
    assert "explaining a job requires --snapshot" in result.err


WRONG = {
    "no text": ("\x00{", 1, "AP801"),
    "no object": ("just words", 1, "expected an object"),
    "nothing in it": ("{}", 1, "an object has no kind"),
    "no cluster": (
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
        1,
        "the snapshot contains no nodes, queues or pods",
    ),
    "another version": (
        "apiVersion: apportion.dev/v2\nkind: Snapshot\n",
        1,
        "wrong.yaml:1: error[AP801] `apiVersion`: unsupported version `apportion.dev/v2`",
    ),
    "an unknown field": (
        "apiVersion: apportion.dev/v1\nkind: Snapshot\nnodes:\n  - name: a\n    allocatable: {}\n    label: {}\n",
        1,
        "wrong.yaml:6: error[AP801] `nodes[0].label`: unknown field `label`; did you mean `labels`?",
    ),
    "a record twice": (
        "apiVersion: apportion.dev/v1\nkind: Snapshot\nqueues:\n  - {name: a, parent: null}\n  - {name: a, parent: null}\n",
        1,
        "error[AP804] queue a is listed 2 times",
    ),
    "an unknown node": (
        "apiVersion: apportion.dev/v1\nkind: Snapshot\nnodes: []\npods:\n"  # noqa: ISC004 - one text.
        "  - {uid: u, name: p, namespace: n, group: null,\n     status: Running, node: b}\n",
        0,
        "wrong.yaml:6: warning[AP807] node `b`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_snapshots_yield_findings(run: Run, tmp_path: Path, case: str) -> None:
    text, code, said = WRONG[case]
    (tmp_path / "wrong.yaml").write_text(text, encoding="utf-8")
    result = run("simulate", "--cycle", "wrong.yaml")
    assert result.code == code
    assert said in result.err
    assert "Traceback" not in result.text


def test_json_findings_have_lines(run: Run, tmp_path: Path) -> None:
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "b"}, "status": {"phase": "Running"}}
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Pod", **pod},
    ]
    text = json.dumps({"kind": "List", "items": items}, indent=1)
    (tmp_path / "wrong.json").write_text(text, encoding="utf-8")
    line = next(n for n, each in enumerate(text.splitlines(), start=1) if "nodeName" in each)
    assert f"wrong.json:{line}: warning[AP807]" in run("simulate", "--cycle", "wrong.json").err


def test_missing_snapshot_is_refused(run: Run) -> None:
    result = run("simulate", "--cycle", "nowhere")
    assert result.code == 3
    assert "nowhere is not a readable file or directory" in result.err


def test_help_has_examples(run: Run) -> None:
    result = run("simulate", "--help")
    assert result.code == 0
    assert "apportion simulate --cycle cluster.yaml" in result.out


def test_schema_is_published(run: Run) -> None:
    schema = json.loads(run("schema", "--for", "snapshot").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    document = {"apiVersion": "apportion.dev/v1", "kind": "Snapshot", "nodes": [{"name": "a", "allocatable": {}}]}
    assert list(jsonschema.Draft202012Validator(schema).iter_errors(document)) == []
