"""`apportion codeowners`: owners of files, and updates of the block in an existing file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

POLICY = """\
from apportion_policy import Organisation, Policy
from teams.vision import VISION
from teams.speech import SPEECH

POLICY = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), queues=(VISION, SPEECH))
"""
QUEUE = """\
from apportion_policy import Queue, Resources

{name} = Queue(id="{id}", owner="{owner}", namespaces=("{id}",), guaranteed=Resources(gpu=1))
"""
BLOCK = """\
# BEGIN apportion: written by `apportion codeowners`; edit the owners in the policy instead.
/policy.py @acme/platform
# /teams/speech.py: group:default/speech is not a handle
/teams/vision.py @acme/vision
# END apportion
"""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "policy"
    (folder / "teams").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "policy.py").write_text(POLICY)
    (folder / "teams/vision.py").write_text(QUEUE.format(name="VISION", id="vision", owner="@acme/vision"))
    (folder / "teams/speech.py").write_text(QUEUE.format(name="SPEECH", id="speech", owner="group:default/speech"))
    monkeypatch.chdir(folder)
    return folder


def test_files_are_owned_by_queue_owners(run: Run, policy: Path) -> None:
    told = run("codeowners")
    assert (told.code, told.out) == (0, BLOCK)


def test_only_the_generated_block_is_replaced(run: Run, policy: Path) -> None:
    (policy / "CODEOWNERS").write_text("* @acme/all\n")
    assert run("codeowners", "--check", "CODEOWNERS").code == 10
    assert run("codeowners", "--write", "CODEOWNERS").code == 0
    assert (policy / "CODEOWNERS").read_text() == f"* @acme/all\n\n{BLOCK}"
    (policy / "CODEOWNERS").write_text(f"a\n{BLOCK.replace('@acme/vision', '@x')}b\n")
    assert run("codeowners", "--write", "CODEOWNERS").code == 0
    assert (policy / "CODEOWNERS").read_text() == f"a\n{BLOCK}b\n"
    assert run("codeowners", "--check", "CODEOWNERS").code == 0


@pytest.mark.parametrize("text", ["# BEGIN apportion\n", "# END apportion\n", f"{BLOCK}{BLOCK}"])
def test_damaged_block_is_refused(text: str, run: Run, policy: Path) -> None:
    (policy / "CODEOWNERS").write_text(text)
    told = run("codeowners", "--write", "CODEOWNERS")
    assert told.code == 3
    assert "must each appear once, in this order" in told.err
    assert (policy / "CODEOWNERS").read_text() == text
