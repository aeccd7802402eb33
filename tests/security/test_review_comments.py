"""The steps that post a review, against a test double of the code host: one comment, and no forged one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_cli.scaffold import scaffold_files

from .forge_api import BOT, PERSON, TOKEN, Forge, serving

MARKER = "<!-- apportion:review -->"
REVIEW = f"{MARKER}\n### 🟢 No running workload affected\n"
RUN = {
    "id": 99,
    "head_sha": "a" * 40,
    "head_branch": "quota",
    "head_repository": {"id": 1},
    "html_url": "https://github.com/acme/quotas/actions/runs/99",
    "pull_requests": [],
}
PULL = {"head": {"sha": "a" * 40, "ref": "quota", "repo": {"id": 1}}}


@pytest.fixture
def forge() -> Iterator[Forge]:
    held = Forge(pulls={"5": PULL}, artifacts=[artifact()], merge_request={"sha": "a" * 40})
    with serving(held):
        yield held


def artifact(comment: str | bytes = REVIEW, number: str = "5\n", **others: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"comment.md": comment, "number": number, **others}.items():
            archive.writestr(name, content)
    return data.getvalue()


def _script(service: str) -> str:
    written = scaffold_files("acme", "1.0.0", service=service)
    if service == "github":
        job = yaml.safe_load(written[".github/workflows/apportion-review-comment.yml"])["jobs"]["comment"]
        assert len(job["steps"]) == 1
        return str(job["steps"][0]["run"])
    return "\n".join(yaml.safe_load(written[".gitlab-ci.yml"])["review-note"]["script"])


def _run(script: str, folder: Path, environment: Mapping[str, str], shell: tuple[str, ...]) -> tuple[int, str]:
    ended = subprocess.run(
        [*shell, script],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    assert TOKEN not in ended.stdout + ended.stderr
    return ended.returncode, ended.stdout


def github(forge: Forge, folder: Path, **run: Any) -> tuple[int, str]:
    """Run the step as GitHub does, in a folder with modules that would shadow the standard library."""
    (folder / "json.py").write_text("raise SystemExit('shadowed')\n")
    (folder / "event.json").write_text(json.dumps({"workflow_run": RUN | run}))
    environment = {
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_API_URL": forge.url,
        "GITHUB_REPOSITORY": "acme/quotas",
        "GH_TOKEN": TOKEN,
    }
    return _run(_script("github"), folder, environment, ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"))


def gitlab(forge: Forge, folder: Path, **variables: str) -> tuple[int, str]:
    environment = {
        "CI_API_V4_URL": forge.url,
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "5",
        "CI_COMMIT_SHA": "a" * 40,
        "APPORTION_REVIEW_TOKEN": TOKEN,
    }
    return _run(_script("gitlab"), folder, environment | variables, ("sh", "-ec"))


def test_later_pushes_edit_the_same_comment(forge: Forge, tmp_path: Path) -> None:
    for author, body in ((PERSON, REVIEW), (BOT, "another comment"), *((PERSON, "talk"),) * 150):
        forge.add(author, body)
    assert github(forge, tmp_path) == (0, "apportion: the comment on pull request 5 was created\n")
    # A re-run has an artifact for each attempt.
    forge.artifacts.append(artifact(f"{MARKER}\nsecond\n"))
    assert github(forge, tmp_path) == (0, "apportion: the comment on pull request 5 was edited\n")
    assert forge.writes == [
        ("POST", "/repos/acme/quotas/issues/5/comments"),
        ("PATCH", "/repos/acme/quotas/issues/comments/153"),
    ]
    assert [comment["body"] for comment in forge.comments if comment["user"] == BOT] == [
        "another comment",
        f"{MARKER}\nsecond\n",
    ]


def test_token_is_sent_only_to_the_api(forge: Forge, tmp_path: Path) -> None:
    github(forge, tmp_path)
    assert forge.tokens.pop("/blob/0") is None
    assert len(forge.tokens) == 5
    assert set(forge.tokens.values()) == {f"Bearer {TOKEN}"}


HOSTILE = {
    "too-large": (artifact(REVIEW + "x" * 65_536), "the artifact's comment.md is 65,536 bytes or larger"),
    "as-large-as-the-limit": (artifact(REVIEW.ljust(65_534)), "the artifact's comment.md is 65,536 bytes or larger"),
    "bomb": (artifact(REVIEW + "x" * 10**7), "the artifact's comment.md is 65,536 bytes or larger"),
    "no-marker": (artifact("### 🟢 Fine\n"), "the artifact's comment does not start with the review marker"),
    "marker-later": (artifact(f"\n{REVIEW}"), "the artifact's comment does not start with the review marker"),
    "marker-prefix": (artifact(f"{MARKER} x\n"), "the artifact's comment does not start with the review marker"),
    "not-utf-8": (artifact(REVIEW.encode() + b"\xff"), "the artifact cannot be read: 'utf-8' codec can't decode"),
    "control-characters": (artifact(REVIEW + "\x1b[2J"), "the artifact's comment.md contains control characters"),
    "no-comment": (
        artifact(number="5").replace(b"comment.md", b"komment.md"),
        "the artifact does not contain comment.md",
    ),
    "not-a-number": (artifact(number="5/../6"), "the artifact does not contain a pull request number"),
    "number-of-lines": (artifact(number="5\n6\n"), "the artifact does not contain a pull request number"),
    "number-of-other-digits": (artifact(number="٥"), "the artifact does not contain a pull request number"),
    "long-number": (artifact(number="5" * 20), "the artifact's number is 16 bytes or larger"),
    "unknown-pull-request": (artifact(number="77"), "GitHub responded to GET /pulls/77 with 404 Not Found"),
    "no-archive": (b"PK", "the artifact cannot be read: File is not a zip file"),
    "damaged-archive": (artifact().replace(b"PK\x03\x04", b"PK\x03\x05"), "the artifact cannot be read: "),
    "huge": (b"\0" * (2**23 + 1), "GitHub's response to GET /actions/artifacts/0/zip exceeds 8 MiB"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_artifact_is_refused(case: str, forge: Forge, tmp_path: Path) -> None:
    data, reason = HOSTILE[case]
    forge.artifacts = [data]
    code, text = github(forge, tmp_path)
    assert (code, forge.writes) == (1, [])
    assert text.startswith(f"::error title=apportion::The review was not posted: {reason}")
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    "head",
    [
        {"sha": "b" * 40, "ref": "another", "repo": {"id": 1}},
        {"sha": "a" * 40, "ref": "quota", "repo": {"id": 2}},
        {"sha": "a" * 40, "ref": "another", "repo": {"id": 1}},
        {"sha": "a" * 40, "ref": "quota", "repo": None},
    ],
    ids=["another-commit", "another-repository", "another-branch", "deleted-repository"],
)
def test_pull_request_number_is_verified(head: Mapping[str, Any], forge: Forge, tmp_path: Path) -> None:
    forge.pulls["5"] = {"head": head}
    code, text = github(forge, tmp_path)
    assert (code, forge.writes) == (1, [])
    assert "the artifact is for pull request 5, which is not the one that was reviewed" in text


def test_deleted_fork_is_refused(forge: Forge, tmp_path: Path) -> None:
    forge.pulls["5"] = {"head": {"sha": "a" * 40, "ref": "quota", "repo": None}}
    code, text = github(forge, tmp_path, head_repository=None)
    assert (code, forge.writes) == (1, [])
    assert "is not the one that was reviewed" in text


def test_older_commit_does_not_replace_a_newer_review(forge: Forge, tmp_path: Path) -> None:
    forge.pulls["5"] = {"head": {"sha": "b" * 40, "ref": "quota", "repo": {"id": 1}}}
    code, text = github(forge, tmp_path)
    assert (code, forge.writes) == (0, [])
    assert text == "apportion: pull request 5 has a newer commit, which is reviewed separately; nothing was posted\n"


@pytest.mark.parametrize(
    "changed",
    [
        {"filename": ".github/workflows/apportion-review.yml"},
        {"filename": "x.yml", "previous_filename": ".github/workflows/apportion-review.yml"},
    ],
)
def test_possibly_forged_review_is_marked(changed: Mapping[str, str], forge: Forge, tmp_path: Path) -> None:
    forge.files = [{"filename": f"teams/{at}.py"} for at in range(100)] + [dict(changed)]
    assert github(forge, tmp_path)[0] == 0
    lines = forge.comments[0]["body"].splitlines()
    assert lines[:2] == [MARKER, "> [!CAUTION]"]
    assert lines[-1] == "### 🟢 No running workload affected"
    forge.artifacts.append(artifact(REVIEW + "x" * 65_400))
    assert github(forge, tmp_path)[0] == 0
    assert forge.comments[0]["body"].splitlines() == lines[:4]
    assert len(forge.comments) == 1


def test_policy_files_do_not_mark_a_review(forge: Forge, tmp_path: Path) -> None:
    forge.files = [{"filename": "teams/vision.py"}, {"filename": "docs/.github/x"}]
    assert github(forge, tmp_path)[0] == 0
    assert forge.comments[0]["body"] == REVIEW


def test_failed_run_replaces_an_older_review(forge: Forge, tmp_path: Path) -> None:
    github(forge, tmp_path)
    forge.artifacts = []
    code, text = github(forge, tmp_path)
    assert (code, text) == (
        0,
        "apportion: the workflow did not write a review, and its pull request is unknown; nothing was posted\n",
    )
    assert github(forge, tmp_path, pull_requests=[{"number": 5}])[0] == 0
    (comment,) = forge.comments
    assert comment["body"].splitlines()[:2] == [MARKER, "### 🔴 This change was not reviewed"]


@pytest.mark.parametrize(
    ("request_", "status", "reason"),
    [
        (("GET", "/actions/runs/99/artifacts"), (403, "Resource not accessible"), "403 Resource not accessible"),
        (("GET", "/pulls/5"), (500, "Internal Server Error"), "500 Internal Server Error"),
        (("GET", "/issues/5/comments"), (502, "Bad Gateway"), "502 Bad Gateway"),
        (("POST", "/issues/5/comments"), (403, "Forbidden"), "403 Forbidden"),
    ],
)
def test_github_error_is_one_sentence(
    request_: tuple[str, str], status: tuple[int, str], reason: str, forge: Forge, tmp_path: Path
) -> None:
    method, path = request_
    forge.fails[method, f"/repos/acme/quotas{path}"] = status
    code, text = github(forge, tmp_path)
    assert (code, forge.writes) == (1, [])
    assert text.startswith(f"::error title=apportion::The review was not posted: GitHub responded to {method} {path}")
    assert text.endswith(f" with {reason}.\n")
    assert text.count("\n") == 1


def test_unreachable_api_is_one_sentence(tmp_path: Path) -> None:
    nowhere = Forge(url="http://127.0.0.1:9")
    (tmp_path / "apportion-review.md").write_text(REVIEW)
    for post, name in ((github, "GitHub"), (gitlab, "GitLab")):
        code, text = post(nowhere, tmp_path)
        assert code == 1
        assert f"was not posted: {name} did not respond to GET " in text
        assert text.count("\n") == 1


def test_later_pushes_edit_the_same_note(forge: Forge, tmp_path: Path) -> None:
    report = tmp_path / "apportion-review.md"
    report.write_text(REVIEW)
    for author, body in ((PERSON, REVIEW), *((PERSON, "talk"),) * 150):
        forge.add(author, body)
    assert gitlab(forge, tmp_path) == (0, "apportion: the note was created\n")
    report.write_text(f"{MARKER}\nsecond\n")
    merged = {"CI_COMMIT_SHA": "c" * 40, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "a" * 40}
    assert gitlab(forge, tmp_path, **merged) == (0, "apportion: the note was edited\n")
    assert forge.writes == [
        ("POST", "/projects/3/merge_requests/5/notes"),
        ("PUT", "/projects/3/merge_requests/5/notes/152"),
    ]
    assert forge.comments[-1]["body"] == f"{MARKER}\nsecond\n"
    assert set(forge.tokens.values()) == {TOKEN}


def test_notes_contain_no_quick_action(forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "apportion-review.md").write_text(f"{REVIEW}/approve\n  /merge\n\n/close\nteams/vision.py\n")
    assert gitlab(forge, tmp_path)[0] == 0
    body = forge.comments[0]["body"]
    assert not [line for line in body.splitlines() if line.lstrip().startswith("/")]
    assert body.replace("\N{WORD JOINER}", "") == f"{REVIEW}/approve\n  /merge\n\n/close\nteams/vision.py\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (REVIEW + "x" * 65_536, "apportion-review.md is 65,536 bytes or larger"),
        ("### 🟢 Fine\n", "apportion-review.md does not start with the review marker"),
        (REVIEW + "\0", "apportion-review.md contains control characters"),
    ],
)
def test_hostile_report_is_refused(text: str, reason: str, forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "apportion-review.md").write_text(text)
    assert gitlab(forge, tmp_path) == (1, f"apportion: error: the review was not posted: {reason}\n")
    assert forge.tokens == {}


def test_report_must_be_a_regular_file(forge: Forge, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(REVIEW)
    (tmp_path / "apportion-review.md").symlink_to(secret)
    code, text = gitlab(forge, tmp_path)
    assert (code, forge.tokens) == (1, {})
    assert "the review was not posted: apportion-review.md cannot be read: " in text
    (tmp_path / "apportion-review.md").unlink()
    os.mkfifo(tmp_path / "apportion-review.md")
    assert "is not a regular file" in gitlab(forge, tmp_path)[1]


def test_missing_review_keeps_a_newer_note(forge: Forge, tmp_path: Path) -> None:
    assert gitlab(forge, tmp_path)[0] == 0
    assert forge.comments[0]["body"].splitlines()[1] == "### 🔴 This change was not reviewed"
    forge.merge_request["sha"] = "b" * 40
    code, text = gitlab(forge, tmp_path)
    assert (code, len(forge.writes)) == (0, 1)
    assert text.endswith("has a newer commit, which is reviewed separately; nothing was posted\n")


@pytest.mark.parametrize("request_", [("GET", "/merge_requests/5"), ("PUT", "/merge_requests/5/notes/1")])
def test_gitlab_error_is_one_sentence(request_: tuple[str, str], forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "apportion-review.md").write_text(REVIEW)
    forge.add(BOT, REVIEW)
    method, path = request_
    forge.fails[method, f"/projects/3{path}"] = (401, "Unauthorized")
    code, text = gitlab(forge, tmp_path)
    assert (code, forge.writes) == (1, [])
    assert text.startswith(
        f"apportion: error: the review was not posted: GitLab responded to {method} /projects/3{path}"
    )
    assert text.endswith(" with 401 Unauthorized\n")
