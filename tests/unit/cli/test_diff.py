"""`apportion diff`: comparison of revisions and folders, formats, exit codes, and errors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]

POLICY = """\
from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

POLICY = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research"),
        Queue(id="vision", parent="research", namespaces=("vision",), guaranteed=Resources(gpu=8)),
        Queue(id="speech", parent="research", namespaces=("speech",), guaranteed=Resources(gpu=8)),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="one", engine=Engine.KUEUE, engine_version="0.17"),)),
    ),
)
"""
MOVED = POLICY.replace('("vision",), guaranteed=Resources(gpu=8)', '("vision",), guaranteed=Resources(gpu=12)').replace(
    '("speech",), guaranteed=Resources(gpu=8)', '("speech",), guaranteed=Resources(gpu=4)'
)


def _git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *names, *arguments], check=True, capture_output=True)


def _write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.py").write_text(text)
    return folder


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose branch `main` holds the policy in `quota/`, and whose working tree moves four GPUs."""
    folder = tmp_path / "repository"
    _write(folder / "quota", POLICY)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "base")
    _write(folder / "quota", MOVED)
    monkeypatch.chdir(folder)
    return folder


def test_work_tree_is_compared_with_a_revision(run: Run, repository: Path) -> None:
    told = run("diff", "main", "-p", "quota", "--as-of", "2026-11-21")
    assert told.code == 10
    assert told.out == (
        "main (as of 2026-11-21) → working tree (as of 2026-11-21)\n\n"
        "queue speech  quota/policy.py:8\n  ~ −4 GPUs (8 → 4) guaranteed, 4 GPUs to `vision`\n\n"
        "queue vision  quota/policy.py:7\n  ~ +4 GPUs (8 → 12) guaranteed, 4 GPUs from `speech`\n\n"
        "2 objects changed in the policy, 1 queue unchanged. Kubernetes objects: 0 created, 2 changed, 0\n"
        "    deleted, 0 left in place.\n"
    )


@pytest.mark.parametrize("arguments", [("main..change",), ("main", "change")], ids=" ".join)
def test_two_revisions_are_compared(arguments: tuple[str, ...], run: Run, repository: Path) -> None:
    _git(repository, "checkout", "-qb", "change")
    _git(repository, "commit", "-qam", "change")
    _write(repository / "quota", "raise SystemExit('the working tree is not read')")
    told = run("diff", *arguments, "-p", "quota", "-o", "json")
    document = json.loads(told.out)
    assert (told.code, document["base"]["name"], document["head"]["name"]) == (10, "main", "change")
    assert [(s["name"], s["text"]) for s in document["statements"]] == [
        ("speech", "−4 GPUs (8 → 4) guaranteed, 4 GPUs to `vision`"),
        ("vision", "+4 GPUs (8 → 12) guaranteed, 4 GPUs from `speech`"),
    ]
    assert [c["action"] for target in document["objects"] for c in target["changes"]] == ["change", "change"]


def test_reformatted_policy_does_not_differ(run: Run, tmp_path: Path) -> None:
    told = run("diff", _write(tmp_path / "a", POLICY), _write(tmp_path / "b", f"# reformatted\n{POLICY}"))
    assert (told.code, told.out) == (0, f"{tmp_path / 'a'} and {tmp_path / 'b'}: no difference\n")


def test_deleted_objects_come_first_and_namespaces_stay(run: Run, tmp_path: Path) -> None:
    without = "\n".join(line for line in POLICY.splitlines() if '"speech"' not in line)
    told = run("diff", _write(tmp_path / "a", POLICY), _write(tmp_path / "b", without))
    lines = told.out.splitlines()
    assert told.code == 10
    assert lines[2].startswith("Deletes (prod/one kueue): LocalQueue speech/speech, ClusterQueue speech")
    assert any(
        line.startswith("Left on the cluster, no longer managed (prod/one native): Namespace speech") for line in lines
    )


def test_override_differs_between_two_dates(run: Run, tmp_path: Path) -> None:
    override = (
        ', overrides=(Override(begin=date(2026, 12, 1), end=date(2026, 12, 9), reason="launch", owner="@acme/vision", '
        "guaranteed=Resources(gpu=16)),))"
    )
    text = POLICY.replace(
        '"vision",), guaranteed=Resources(gpu=8))', f'"vision",), guaranteed=Resources(gpu=8){override}'
    )
    folder = _write(tmp_path / "a", "from datetime import date\nfrom apportion_policy import Override\n" + text)
    told = run("diff", folder, folder, "--base-as-of", "2026-11-30", "--as-of", "2026-12-01")
    assert told.code == 10
    assert "~ +8 GPUs (8 → 16) guaranteed" in told.out
    assert "~ in effect no → yes" in told.out


def test_markdown_is_one_fenced_block(run: Run, repository: Path) -> None:
    told = run("diff", "main", "-p", "quota", "-o", "markdown")
    assert told.out.startswith("### Policy: 2 objects changed\n\n```\nmain (as of ")
    assert told.out.count("```") == 2


def test_errors_of_the_head_are_findings(run: Run, tmp_path: Path) -> None:
    twice = POLICY.replace('id="speech"', 'id="vision"')
    told = run("diff", _write(tmp_path / "a", POLICY), _write(tmp_path / "b", twice))
    assert told.code == 1
    assert "AP103" in told.err


def test_errors_of_the_base_end_the_comparison(run: Run, tmp_path: Path) -> None:
    twice = POLICY.replace('id="speech"', 'id="vision"')
    told = run("diff", _write(tmp_path / "a", twice), _write(tmp_path / "b", POLICY))
    assert (told.code, told.out) == (3, "")
    assert f"{tmp_path / 'a'}: policy.py:8: AP103" in told.err


def test_findings_that_prevent_compilation_are_counted(run: Run, tmp_path: Path) -> None:
    over = POLICY.replace('Queue(id="research")', 'Queue(id="research", guaranteed=Resources(gpu=4))')
    told = run("diff", _write(tmp_path / "a", POLICY), _write(tmp_path / "b", over))
    assert told.code == 10
    assert "Kubernetes objects are not compared" in told.out
    assert f"{tmp_path / 'b'} has 1 error (see apportion validate)" in " ".join(told.out.split())


def test_unknown_revision(run: Run, repository: Path) -> None:
    told = run("diff", "nowhere", "-p", "quota")
    assert (told.code, told.out) == (3, "")
    assert "the repository has no revision `nowhere`" in told.err


def test_revision_outside_of_a_repository(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_write(tmp_path / "a", POLICY))
    told = run("diff", "main")
    assert told.code == 3
    assert "`main` is neither a path nor a revision" in told.err


def test_policy_outside_of_the_repository(run: Run, repository: Path, tmp_path: Path) -> None:
    told = run("diff", "main", "-p", _write(tmp_path / "elsewhere", POLICY))
    assert told.code == 2
    assert "is outside the repository, so `main` does not contain it" in told.err


def test_base_without_the_policy(run: Run, repository: Path) -> None:
    _write(repository / "other", POLICY)
    told = run("diff", "main", "-p", "other")
    assert told.code == 3
    assert "main: " in told.err


def test_git_attributes_and_links_are_not_followed(run: Run, repository: Path) -> None:
    """`export-ignore` would hide a file from `git archive`; a link is read as the link that it is."""
    (repository / ".gitattributes").write_text("quota/policy.py export-ignore export-subst\n")
    (repository / "link").symlink_to("quota")
    _git(repository, "add", "-A")
    _git(repository, "commit", "-qm", "attributes")
    told = run("diff", "HEAD", "-p", "quota")
    assert (told.code, told.out) == (0, "HEAD and working tree: no difference\n")
    assert run("diff", "HEAD", "-p", "link").code == 0


@pytest.fixture
def rendered(run: Run, tmp_path: Path) -> Path:
    """The rendered tree of the policy."""
    _write(tmp_path / "a", POLICY)
    assert run("compile", tmp_path / "a", "--out", tmp_path / "rendered").code == 0
    return tmp_path / "rendered"


def test_rendered_tree_is_compared_with_the_policy(run: Run, rendered: Path, tmp_path: Path) -> None:
    same = run("diff", rendered, tmp_path / "a")
    assert (same.code, same.out) == (0, f"{rendered} and {tmp_path / 'a'}: no difference\n")
    told = run("diff", rendered, _write(tmp_path / "b", MOVED), "-o", "json")
    document = json.loads(told.out)
    assert told.code == 10
    assert [(s["name"], s["text"], s["headLocation"]) for s in document["statements"]] == [
        ("speech", "−4 GPUs (8 → 4) guaranteed, 4 GPUs to `vision`", "policy.py:8"),
        ("vision", "+4 GPUs (8 → 12) guaranteed, 4 GPUs from `speech`", "policy.py:7"),
    ]
    assert [c["name"] for target in document["objects"] for c in target["changes"]] == ["speech", "vision"]


def test_two_rendered_trees_are_compared(run: Run, rendered: Path, tmp_path: Path) -> None:
    assert run("compile", _write(tmp_path / "b", MOVED), "--out", tmp_path / "changed").code == 0
    told = run("diff", rendered, tmp_path / "changed")
    assert told.code == 10
    assert "~ +4 GPUs (8 → 12) guaranteed, 4 GPUs from `speech`" in told.out


def test_export_is_compared_with_the_policy(run: Run, rendered: Path, tmp_path: Path) -> None:
    """Server fields are no difference, a queue that somebody made by hand is, and what no policy holds is a note."""
    files = (file for file in sorted(rendered.rglob("*.yaml")) if file.name != "kustomization.yaml")
    objects = [
        o for file in files for o in yaml.safe_load_all(file.read_text()) if o and "name" in o.get("metadata", {})
    ]
    for made in objects:
        made["metadata"] |= {"uid": "1", "resourceVersion": "7"}
    speech = next(o for o in objects if o["kind"] == "ClusterQueue" and o["metadata"]["name"] == "speech")
    hand_made = json.loads(json.dumps(speech).replace("speech", "by-hand"))
    export = tmp_path / "cluster.json"
    export.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects, hand_made]}))
    told = run("diff", export, tmp_path / "a")
    assert told.code == 10
    assert "queue by-hand\n  - removed: 8 GPUs guaranteed" in told.out
    joined = " ".join(told.out.split())
    assert "Kubernetes objects are not compared: an export contains fields set by the API server" in joined


def test_inexpressible_values_are_listed(run: Run, tmp_path: Path) -> None:
    """A value that no policy can hold is a note, though nothing else differs."""
    _write(tmp_path / "a", POLICY.replace("Engine.KUEUE", "Engine.KAI").replace('"0.17"', '"0.17.0"'))
    assert run("compile", tmp_path / "a", "--out", tmp_path / "rendered").code == 0
    for file in (tmp_path / "rendered/prod/one/kai").rglob("*.yaml"):
        file.write_text(file.read_text().replace("quota: 8\n", "quota: 8.000001\n"))
    told = run("diff", tmp_path / "rendered", tmp_path / "a")
    assert "Not compared, because a policy cannot express these fields" in told.out
    assert "Queue vision: `spec.resources.gpu.quota: 8.000001` is replaced by 8" in " ".join(told.out.split())
    assert told.code == 10


def test_tree_of_several_clusters_requires_a_name(run: Run, tmp_path: Path) -> None:
    two = POLICY.replace(
        'engine_version="0.17"),)',
        'engine_version="0.17"), Cluster(name="two", engine=Engine.KAI, engine_version="0.17.0"))',
    )
    _write(tmp_path / "a", two)
    assert run("compile", tmp_path / "a", "--out", tmp_path / "rendered").code == 0
    told = run("diff", tmp_path / "rendered", tmp_path / "a")
    assert (told.code, told.out) == (2, "")
    assert "specify which cluster the objects belong to with --cluster: prod/one, prod/two" in told.err
    assert run("diff", tmp_path / "rendered", tmp_path / "a", "--cluster", "prod/two").code == 0
    unknown = run("diff", tmp_path / "rendered", tmp_path / "a", "--cluster", "prod/three")
    assert unknown.code == 2
    assert "the policy has no cluster prod/three; it has prod/one, prod/two" in unknown.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--cluster", "prod/one"), "--cluster requires a rendered tree or an export"),
        (("--cluster", "one"), "--cluster requires a rendered tree or an export"),
    ],
)
def test_cluster_option_requires_objects(run: Run, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    folder = _write(tmp_path / "a", POLICY)
    refused = run("diff", folder, folder, *arguments)
    assert refused.code == 2
    assert told in refused.err


def test_markdown_of_many_renames_is_shorter_than_a_comment(run: Run, tmp_path: Path) -> None:
    text = (
        "from apportion_policy import Organisation, Policy, Queue\n"
        'POLICY = Policy(organisation=Organisation(name="acme"), queues=tuple('
        'Queue(id=f"{PREFIX}-{n}", namespaces=(f"namespace-{n}",)) for n in range(1500)))\n'
    )
    for name in ("base", "head"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.py").write_text(f'PREFIX = "{name}"\n{text}')
    told = run("diff", str(tmp_path / "base"), str(tmp_path / "head"), "-o", "markdown", "--as-of", "2026-11-21")
    assert told.code == 10, told.err
    assert told.out.startswith("### Policy: 1,500 objects changed\n")
    assert "renamed from `base-0`" in told.out
    assert len(told.out.encode()) < 65_536
    assert told.out.count("```") == 2
    assert told.out.endswith(" more lines are in the text and JSON reports.\n")
