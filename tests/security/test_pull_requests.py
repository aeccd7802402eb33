"""Attacks on the gate: each case of `pull_requests/` gets its exit code and message, and has no other effect.

A case is data: what it changes against what `init` writes (`files`, `append`, `replace`, `links`, `remove`), whether
its author compiled (`compiled`), what was forged after that (`then`), which system calls the runner's system lacks
(`withheld`), and the step, exit code and sentence it must get.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_cli.exit_codes import ExitCode

from .github_gate import SECRET, base_repository, git, judge, propose, workflow_of
from .test_missing_layers import CONTAINER, require_all_layers

CASES = {path.stem: path for path in sorted((Path(__file__).parent / "pull_requests").glob("*.yaml"))}
LOAD = """\
nodes: [{pool: gpus, count: 4, gpus: 8, cpu: 96, memory: 900Gi}]
workloads:
  - {name: first, kind: Job, queue: vision, pods: 2, gpus: 8, duration: 1h}
"""
_CODE = re.compile(r"(?ms)^(`{3,}).*?^\1$|`[^`\n]*`")
_ANNOTATION = re.compile(r"::(error|warning|notice) (file=|title=)")


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_repository(tmp_path_factory.mktemp("gate") / "base")


def _parameters() -> list[Any]:
    found = []
    for name, path in CASES.items():
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        marks = () if case.get("fast") else (pytest.mark.slow,)
        found.append(pytest.param(case, id=name, marks=marks))
    return found


@pytest.mark.parametrize("case", _parameters())
def test_validation_of_a_hostile_pull_request(case: dict[str, Any], base: Path, tmp_path: Path) -> None:
    outside = _secrets(tmp_path)
    before = _contents(outside)
    author = propose(base, case, tmp_path, outside)
    steps = judge(workflow_of(base), base, author, tmp_path / "runner", _command(case, tmp_path / "command"))
    last = steps[-1]
    expected = case["expect"]
    assert (last.name, last.code) == (expected["step"], expected["exit"]), last.text
    assert expected.get("says", "") in last.text
    for step in steps:
        _assert_harmless(step.text)
    assert _contents(outside) == before
    head = tmp_path / "runner/workspace/head"
    assert git(head, "status", "--porcelain", "--ignored") == ""
    assert {path.name for path in (tmp_path / "runner/temp").iterdir()} <= {"apportion.sarif", "summary.md"}


@pytest.mark.parametrize("case", _parameters())
def test_review_of_a_hostile_pull_request(case: dict[str, Any], base: Path, tmp_path: Path) -> None:
    """The review of a hostile change ends with a documented exit code and a comment that is safe to post."""
    outside = _secrets(tmp_path)
    before = _contents(outside)
    author = propose(base, case, tmp_path, outside)
    command = _command(case, tmp_path / "command")
    workflow = workflow_of(base, "apportion-review")
    review, summarize = judge(workflow, base, author, tmp_path / "runner", command, job="review")
    assert (summarize.code, summarize.text) == (0, "")
    if case["expect"]["exit"] == 0:
        assert review.code in (ExitCode.OK, ExitCode.CHANGES), review.text
    else:
        assert review.code in (ExitCode.OK, ExitCode.CHANGES, ExitCode.FINDINGS, ExitCode.CANNOT), review.text
    comment = (tmp_path / "runner/temp/comment.md").read_text(encoding="utf-8")
    assert comment.startswith("<!-- apportion:review -->\n### ")
    assert len(comment.encode()) < 65_536
    assert (tmp_path / "runner/temp/summary.md").read_text(encoding="utf-8") == comment
    _assert_harmless(review.text)
    _assert_harmless(comment)
    # Forges search for mentions and references after they decode character references.
    prose = _CODE.sub("", comment)
    assert prose.count("<!--") == 1
    shown = html.unescape(prose)
    assert {found for found in re.findall(r"@[\w/-]+", shown) if not found.startswith("@acme/")} == set()
    assert re.findall(r"[#!]\d", shown) == []
    wanted = case.get("review", {})
    assert review.code == wanted.get("exit", review.code)
    assert wanted.get("says", "") in comment.splitlines()[1]
    assert _contents(outside) == before
    assert git(tmp_path / "runner/workspace/head", "status", "--porcelain", "--ignored") == ""
    assert {path.name for path in (tmp_path / "runner/temp").iterdir()} == {"comment.md", "number", "summary.md"}


def test_outcome_tests_run_no_file_of_a_pull_request(tmp_path: Path, base: Path) -> None:
    hostile = "raise SystemExit('ran')\n"
    names = ("conftest.py", "tests/conftest.py", "tests/test_promises.py", "tests/__init__.py", "sitecustomize.py")
    case = {"files": dict.fromkeys(names, hostile) | {"pytest.ini": "[pytest]\naddopts = -p policy\n"}}
    own = tmp_path / "base"
    git(tmp_path, "clone", "--quiet", str(base), str(own))
    author = propose(own, case, tmp_path, tmp_path)
    workflow, command = workflow_of(own, "apportion-review"), Path(sys.executable).parent
    (none,) = judge(workflow, own, author, tmp_path / "first", command, job="outcomes")
    assert (none.code, none.text) == (0, "apportion: the base branch has no outcome tests\n")
    (own / "tests").mkdir()
    (own / "tests/test_head.py").write_text(
        "def test_head(apportion_simulate, request):\n"
        "    outcome = apportion_simulate('../policy.py', 'load.yaml', env='prod')\n"
        "    outcome.assert_waits('vision', at_most='1m')\n"
    )
    (own / "tests/load.yaml").write_text(LOAD)
    git(own, "add", "--all")
    git(own, "commit", "--quiet", "--message", "Test an outcome")
    (kept,) = judge(workflow, own, author, tmp_path / "second", command, job="outcomes")
    assert kept.code == 0, kept.text
    assert "1 passed" in kept.text


def _secrets(folder: Path) -> Path:
    """Return a folder with secrets, outside the checkout."""
    outside = folder / "outside"
    (outside / "gh").mkdir(parents=True)
    (outside / "gh/hosts.yml").write_text(f"github.com:\n  oauth_token: {SECRET}\n", encoding="utf-8")
    (outside / "secret.py").write_text(f"TOKEN = '{SECRET}'\n", encoding="utf-8")
    return outside


def _assert_harmless(text: str) -> None:
    assert SECRET not in text
    assert "Traceback" not in text
    assert not {c for c in text if c not in "\n\t" and not c.isprintable() and c != "\xa0"}
    obeyed = [line for line in text.split("\n") if line.lstrip().startswith("::") or re.search(r"##\w*\[", line)]
    assert all(_ANNOTATION.match(line) for line in obeyed)


def _command(case: dict[str, Any], folder: Path) -> Path:
    """Return the folder of the installed command, or of a substitute on a system without some kernel layers."""
    withheld = case.get("withheld")
    if withheld is None:
        return Path(sys.executable).parent
    require_all_layers()
    folder.mkdir()
    script = folder / "apportion"
    arguments = ["", str(withheld["errno"]), withheld["calls"]]
    script.write_text(
        f"#!{sys.executable} -P\nimport sys\ngiven = sys.argv[1:]\nsys.argv = {arguments!r}\n{CONTAINER}\n"
        "from apportion_cli.main import main\nsys.exit(main(given))\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return folder


def test_number_of_cases() -> None:
    assert len(CASES) >= 110
    assert sum(bool(yaml.safe_load(path.read_text(encoding="utf-8")).get("fast")) for path in CASES.values()) >= 8


def _contents(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}
