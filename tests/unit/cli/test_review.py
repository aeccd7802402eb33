"""`apportion review`: its verdict, gates, exit codes, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.review.kueue_objects import objects_of

Run = Callable[..., Any]

POLICY = """\
from apportion_policy import (
    Accelerator, Cluster, Engine, Environment, Fixed, NodePool, Organisation, Policy, Queue, Resources
)

H100 = NodePool(
    id="h100",
    provider=Fixed(),
    cpu=96,
    memory="1Ti",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi"),
    min_nodes=3,
    max_nodes=3,
)
POLICY = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100,),
    queues=(
        Queue(id="vision", owner="@acme/vision", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 16})),
        Queue(id="speech", owner="@acme/speech", namespaces=("speech",), guaranteed=Resources(gpu={"h100": 8})),
    ),
    environments=(
        Environment(
            name="prod", clusters=(Cluster(name="one", engine=Engine.KUEUE, engine_version="0.18.3", pools=(H100,)),)
        ),
    ),
)
"""
MOVED = POLICY.replace('{"h100": 16}', '{"h100": 12}').replace('{"h100": 8}', '{"h100": 12}')
NOW = ("--now", "2026-11-01T02:00:00Z", "--as-of", "2026-11-21")


def _git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *names, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose working tree moves four GPUs, beside a snapshot in which `vision` uses all that it had."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "policy.py").write_text(POLICY)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "base")
    (folder / "policy.py").write_text(MOVED)
    running = {
        "detector": {"queue": "vision", "gpus": 12, "priority": 125},
        "tracker": {"queue": "vision", "gpus": 4, "priority": 125},
    }
    cluster = {"fair": False, "classes": [0], "queues": {"vision": {}, "speech": {}}, "running": running}
    pending = {"pending": {"model": {"queue": "speech", "gpus": 12}}}
    (tmp_path / "idle.json").write_text(json.dumps({"items": list(objects_of(cluster))}))
    (tmp_path / "busy.json").write_text(json.dumps({"items": list(objects_of({**cluster, **pending}))}))
    monkeypatch.chdir(folder)
    return folder


def test_pending_work_evicts_after_a_quota_move(run: Run, repository: Path) -> None:
    told = run("review", "main", "--snapshot", "../busy.json", "--max-evictions", "0", "-o", "md", *NOW)
    assert (told.code, told.err) == (11, "")
    lines = told.out.splitlines()
    assert lines[1] == (
        "### 🔴 1 running workload is evicted immediately on prod/one; gate --max-evictions failed. Needs approval from @acme/vision."
    )
    assert any(line.startswith("| `tracker` | `vision` | 4 H100 | **evicted now** |") for line in lines)
    assert "snapshot" in told.out


def test_work_on_idle_quota_is_reclaimable(run: Run, repository: Path) -> None:
    told = run("review", "main", "--snapshot", "prod/one=../idle.json", *NOW)
    assert told.code == 10
    assert told.out.startswith("1 running workload becomes reclaimable on demand on prod/one.\n")


def test_missing_snapshot_is_unknown(run: Run, repository: Path) -> None:
    told = run("review", "main", "--max-evictions", "0", *NOW)
    assert told.code == 11
    assert "What happens to work already running on prod/one is unknown" in told.out


def test_snapshot_of_queues_leaves_fates_unknown(run: Run, repository: Path) -> None:
    (repository / "queues.json").write_text(json.dumps({"items": list(objects_of({"queues": {"vision": {}}}))}))
    told = run("review", "main", "--snapshot", "queues.json", "--max-evictions", "0", *NOW)
    assert told.code == 11
    assert "effect on running work: unknown, because queues.json contains neither pods nor workloads" in told.out


def test_unreadable_requests_leave_fates_unknown(run: Run, repository: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "vision"},
        "spec": {"nodeName": "n0", "containers": None},
        "status": {"phase": "Running"},
    }
    (repository / "pods.json").write_text(json.dumps({"items": [pod]}))
    told = run("review", "main", "--snapshot", "../idle.json", "--snapshot", "pods.json", "--fail-on", "unknown", *NOW)
    assert told.code == 11
    assert (
        "../idle.json, pods.json contains invalid resource requests: Pod vision/train: `spec.containers`: expected a list, found no value"
        in " ".join(told.out.split())
    )


def test_snapshot_without_workloads_leaves_fates_unknown(run: Run, repository: Path) -> None:
    container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": "8"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "vision"},
        "spec": {"nodeName": "n0", "containers": [container]},
        "status": {"phase": "Running"},
    }
    (repository / "pods.json").write_text(json.dumps({"items": [pod]}))
    told = run("review", "main", "--snapshot", "pods.json", "--max-evictions", "0", *NOW)
    assert told.code == 11
    assert "pods.json contains 1 running pod with GPUs, but no workloads scheduled by Kueue v0.18.3" in " ".join(
        told.out.split()
    )


_KUBECTL = "with `kubectl get … -o json`"
UNREADABLE: dict[str, tuple[Callable[[str], str], str]] = {
    "cut": (lambda text: text[:200], ":1:200: the file ends before its JSON is complete; export it again " + _KUBECTL),
    "malformed": (
        lambda text: text.replace('"kind": "', '"kind" "', 1),
        "invalid JSON: expecting ':' delimiter, found `\"`; correct the file, or export it again " + _KUBECTL,
    ),
    "empty": (lambda _: "\n", " is empty; export it " + _KUBECTL),
    "message": (lambda _: "error: You must be logged in", " contains no Kubernetes objects; export it " + _KUBECTL),
    "numbered": (
        lambda text: text.replace('"kind": "ClusterQueue"', '"kind": 3', 1),
        "].kind is not a string; export it again " + _KUBECTL,
    ),
    "binary": (lambda _: "\udcff\udcfe", " is not UTF-8 text: invalid byte at offset 0; export it " + _KUBECTL),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_snapshot_that_cannot_be_read(run: Run, repository: Path, name: str) -> None:
    change, message = UNREADABLE[name]
    text = (repository / "../busy.json").read_text()
    (repository / "prod.json").write_bytes(change(text).encode(errors="surrogateescape"))
    told = run("review", "main", "--snapshot", "prod.json", *NOW)
    assert (told.code, told.out) == (3, "")
    assert told.err.startswith("apportion: error: prod.json")
    assert message in told.err
    assert told.err.count("\n") == 1


def _repeated(repository: Path, **metadata: object) -> None:
    """Write the queue `vision` of the snapshot to a second file, with other metadata."""
    items = json.loads((repository / "../idle.json").read_text())["items"]
    queue = next(each for each in items if each["kind"] == "ClusterQueue" and each["metadata"]["name"] == "vision")
    again = {**queue, "metadata": {**queue["metadata"], **metadata}}
    (repository / "again.json").write_text(json.dumps({"items": [again]}))


def test_files_that_contradict_each_other_are_refused(run: Run, repository: Path) -> None:
    _repeated(repository, generation=2)
    told = run("review", "main", "--snapshot", "../idle.json", "--snapshot", "again.json", *NOW)
    assert (told.code, told.out) == (3, "")
    assert "../idle.json and again.json contain different versions of ClusterQueue vision" in told.err


def test_file_that_contradicts_itself_is_refused(run: Run, repository: Path) -> None:
    _repeated(repository, generation=2)
    items = [json.loads((repository / name).read_text())["items"] for name in ("../idle.json", "again.json")]
    (repository / "prod.json").write_text(json.dumps({"items": [*items[0], *items[1]]}))
    told = run("review", "main", "--snapshot", "prod.json", *NOW)
    assert (told.code, told.out) == (3, "")
    assert "prod.json contains ClusterQueue vision twice, with different contents" in told.err


def test_files_that_repeat_an_object_are_one_snapshot(run: Run, repository: Path) -> None:
    _repeated(repository)
    told = run("review", "main", "--snapshot", "../idle.json", "--snapshot", "again.json", *NOW)
    assert (told.code, told.err) == (10, "")
    assert told.out.startswith("1 running workload becomes reclaimable on demand on prod/one.\n")


def test_other_patch_release_of_the_engine_leaves_evictions_known(run: Run, repository: Path) -> None:
    (repository / "policy.py").write_text(POLICY.replace("0.18.3", "0.18.2"))
    told = run("review", "main", "--snapshot", "../idle.json", "--max-evictions", "0", *NOW)
    assert told.code == 10
    assert "list of evictions" not in told.out


def test_other_version_of_the_engine_leaves_evictions_unknown(run: Run, repository: Path) -> None:
    (repository / "policy.py").write_text(POLICY.replace("0.18.3", "0.17.1"))
    told = run("review", "main", "--snapshot", "../idle.json", "--max-evictions", "0", *NOW)
    assert told.code == 11
    assert told.out.startswith("The list of evictions on prod/one is incomplete;")
    assert "the engine version changes from 0.18.3 to 0.17.1" in " ".join(told.out.split())


def test_work_in_a_namespace_that_leaves_the_policy_has_an_unknown_fate(run: Run, repository: Path) -> None:
    (repository / "policy.py").write_text(POLICY.replace('namespaces=("vision",)', 'namespaces=("video",)'))
    told = run("review", "main", "--snapshot", "../idle.json", "--max-evictions", "0", *NOW)
    assert told.code == 11
    assert told.out.startswith("What happens to 2 running workloads on prod/one is unknown;")
    assert "namespace vision is no longer in the policy" in " ".join(told.out.split())


def test_snapshot_that_cannot_be_evaluated_leaves_fates_unknown(run: Run, repository: Path) -> None:
    (other,) = (
        each for each in objects_of({"queues": {"other": {"nominal": "1e400"}}}) if each["kind"] == "ClusterQueue"
    )
    items = [*json.loads((repository / "../idle.json").read_text())["items"], other]
    (repository / "prod.json").write_text(json.dumps({"items": items}))
    told = run("review", "main", "--snapshot", "prod.json", "--max-evictions", "0", *NOW)
    assert told.code == 11
    assert "the base cannot be evaluated: " in " ".join(told.out.split())
    assert "`1e400` exceeds 9223372036854775807, the largest Kubernetes quantity" in " ".join(told.out.split())


def test_approvals_are_read_from_a_list_or_a_file(run: Run, repository: Path) -> None:
    (repository / "agreed").write_text("# reviewers\n@acme/vision\n")
    given = [run("review", "main", "--require-approvals", text, *NOW).code for text in ("@acme/Vision,@x", "agreed")]
    assert given == [10, 10]
    told = run("review", "main", "--require-approvals", "@acme/speech", *NOW)
    assert told.code == 11
    assert "failed: --require-approvals: no approval from @acme/vision" in told.out


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("nosuchfile", "create a file with one owner per line, or list the owners, such as @acme/platform"),
        ("approvals/main.txt", "create a file with one owner per line, or list the owners, such as @acme/platform"),
        ("approvers.txt", "create a file with one owner per line, or list the owners, such as @acme/platform"),
        ("acme/vision", "did you mean @acme/vision?"),
        ("speech", "did you mean @acme/speech?"),
    ],
)
def test_approvals_that_are_neither_a_file_nor_owners(run: Run, repository: Path, text: str, instead: str) -> None:
    told = run("review", "main", "--require-approvals", text, *NOW)
    assert (told.code, told.out) == (2, "")
    message = (
        f"--require-approvals {text}: the file does not exist, and no owner in the policies has this name; {instead}"
    )
    assert message in " ".join(told.err.split())


@pytest.mark.parametrize("text", ["", "@bob", "@bob,carol", "bob,carol"])
def test_approvals_of_reviewers_who_own_nothing_are_not_enough(run: Run, repository: Path, text: str) -> None:
    assert run("review", "main", "--require-approvals", text, *NOW).code == 11


def test_equal_policies(run: Run, repository: Path) -> None:
    told = run("review", "main", "main", "-o", "md", "--max-evictions", "0", *NOW)
    assert (told.code, told.out.splitlines()[1]) == (0, "### 🟢 The policy does not change.")


def test_tree_with_errors(run: Run, repository: Path) -> None:
    (repository / "policy.py").write_text(POLICY.replace('{"h100": 16}', '{"h100": 60}'))
    told = run("review", "main", "-o", "md", *NOW)
    assert told.code == 1
    assert told.out.splitlines()[1].startswith("### 🔴 Working tree has 1 error")
    assert "AP6" in told.out


def test_replay_reproduces_the_report(run: Run, repository: Path) -> None:
    snapshot = ("--snapshot", "../busy.json", "--max-lost-gpu-hours", "0.5")
    first = run("review", "main", *snapshot, "-o", "json=report.json", "-o", "md", "--as-of", "2026-11-21")
    assert (first.code, first.err) == (11, "")
    again = run("review", "--replay", "report.json", "-o", "json=again.json", "-o", "md")
    assert (again.code, again.out) == (11, first.out)
    assert (repository / "again.json").read_bytes() == (repository / "report.json").read_bytes()
    (repository / "policy.py").write_text(POLICY)
    refused = run("review", "--replay", "report.json")
    assert refused.code == 3
    assert "the report cannot be reproduced: head changed after it was written" in refused.err


def test_json_report(run: Run, repository: Path) -> None:
    told = run("review", "main", "--snapshot", "../busy.json", "--max-evictions", "0", "--json", *NOW)
    document = json.loads(told.out)
    assert (document["kind"], document["verdict"]["level"]) == ("PolicyReview", "destructive")
    (cluster,) = document["clusters"]
    (lost,) = [row for row in cluster["fates"]["workloads"] if row["worse"]]
    assert (lost["name"], lost["head"]["fate"], lost["gpus"]) == ("tracker", "evicted now", {"h100": 4000})
    assert document["gates"] == [
        {
            "name": "--max-evictions",
            "threshold": "0",
            "found": "1 (1 evicted now, 0 reclaimable on demand)",
            "failed": True,
        }
    ]


SCENARIO = """\
nodes: [{pool: h100, policy_pool: h100, count: 3}]
workloads:
  - {name: detector, kind: Job, namespace: vision, queue: vision, pods: 4, gpus: 4, duration: 2h}
  - {name: model, kind: Job, namespace: speech, queue: speech, pods: 3, gpus: 4, at: 10m, duration: 1h}
"""


def test_load_is_simulated_under_both_policies(run: Run, repository: Path) -> None:
    (repository / "load.yaml").write_text(SCENARIO)
    told = run("review", "main", "--scenario", "load.yaml", "-o", "md", *NOW)
    assert (told.code, told.err) == (10, "")
    simulated = told.out.partition("<summary>Simulated load")[2]
    assert "| `speech` | 1h 50m → 30s | 1h 50m → 30s | 0 → 0 | 0 → 0 | 0.0 → 0.0 |" in simulated
    assert "| 0s → 1h | 0 → 0 | 0 → 1 |" in simulated
    (repository / "idle.yaml").write_text(SCENARIO.replace("at: 10m, ", "at: 3h, "))
    idle = run("review", "main", "--scenario", "idle.yaml", "-o", "md", *NOW)
    assert "| cluster | 0s → 0s | 0s → 0s | 0 → 0 | 0 → 0 | 0.0 → 0.0 |" in idle.out
    again = run("review", "main", "--scenario", "load.yaml", "--cluster", "prod/two", *NOW)
    assert (again.code, "is not in both policies; in both: prod/one" in again.err) == (2, True)


def test_wait_of_workload_that_has_not_started_is_lower_bound(run: Run, repository: Path) -> None:
    (repository / "load.yaml").write_text(f"until: 1h\n{SCENARIO}")
    markdown = run("review", "main", "--scenario", "load.yaml", "-o", "md", *NOW).out
    assert "| `speech` | ≥ 50m → 30s | ≥ 50m → 30s | 1 → 0 | 0 → 0 | 0.0 → 0.0 |" in markdown
    text = run("review", "main", "--scenario", "load.yaml", *NOW).out
    assert "speech: wait p90 ≥ 50m → 30s, not started 1 → 0, evictions 0 → 0" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing argument 'BASE'"),
        (("main", "--snapshot", "missing.json"), "missing.json is not a readable file or directory"),
        (
            ("main", "--snapshot", "prod/two=../idle.json"),
            "cluster `prod/two` does not exist; the policies define prod/one",
        ),
        (("main", "--max-lost-gpu-hours", "many"), "`many` is not a number of GPU-hours such as 40 or 2.5"),
        (("main", "--replay", "x.json"), "--replay and --check-shares read BASE and HEAD from the report: omit both"),
        (("--replay", "x.json"), "x.json cannot be read: No such file or directory"),
        (("--replay", "policy.py"), "policy.py is not a JSON report from `apportion review`"),
    ],
)
def test_invalid_arguments_are_refused(arguments: tuple[str, ...], says: str, run: Run, repository: Path) -> None:
    told = run("review", *arguments)
    assert told.code in (2, 3)
    assert says in told.err.replace("\n", " ")


@pytest.mark.parametrize(
    ("engine", "version", "n_divisions", "step"),
    [
        ("KAI", "0.17.0", 2, "step 1, queue speech: amount is 13.0, expected 12.0."),
        ("KUEUE", "0.18.3", 4, "step 1, queue speech: amount is 13, expected 12."),
        ("VOLCANO", "1.15.0", 2, "step 1, queue speech: amount is 13, expected 12."),
        ("ACK", "1.30", 2, "step 1, queue root/speech: amount is 13, expected 12."),
        ("YUNIKORN", "1.6.0", 2, "step 1, queue root.speech: amount is 13, expected 12."),
    ],
)
def test_shares_of_a_report_are_verified(
    engine: str, version: str, n_divisions: int, step: str, repository: Path, run: Run
) -> None:
    former, changed = (text.replace("KUEUE", engine).replace("0.18.3", version) for text in (POLICY, MOVED))
    if engine in ("ACK", "YUNIKORN"):
        former, changed = (text.replace('gpu={"h100": ', "gpu=").replace("})", ")") for text in (former, changed))
    (repository / "policy.py").write_text(former)
    _git(repository, "commit", "-q", "--allow-empty", "-am", engine)
    (repository / "policy.py").write_text(changed)
    assert run("review", "main", *NOW, "-o", "json=report.json").code == 10
    checked = run("review", "--check-shares", "report.json")
    told = f"{n_divisions} divisions verified; 0 unchanged shares without proof\n"
    assert (checked.code, checked.out) == (0, told)
    report = repository / "report.json"
    document = json.loads(report.read_text())
    document["clusters"][0]["shareProofs"][1]["divisions"][-1]["steps"][0]["amount"] += 1
    report.write_text(json.dumps(document))
    refused = run("review", "--check-shares", "report.json")
    assert refused.code == 1
    assert step in refused.out
