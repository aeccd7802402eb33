"""Files in a policy's folder that look like a part of it; tests/property/test_moved_files.py has more."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from apportion_policy.evaluation import unread_files as module
from apportion_policy.evaluation.tree import PolicyTree
from apportion_policy.evaluation.unread_files import unread_files

TEAM = 'from apportion_policy import Queue\n\nVISION = Queue(id="vision")\n'
ENTRY = 'from apportion_policy import Organisation, Policy\n\npolicy = Policy(organisation=Organisation(name="a"))\n'


def _unread(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in {"policy.py": ENTRY, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    entry = str(folder / "policy.py")
    found = unread_files(PolicyTree(str(folder), entry), [entry])
    return [str(Path(file).relative_to(folder)) for file in found.files]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("teams/vision.PY", TEAM),
        ("vision.txt", TEAM),
        (".vision.py", TEAM),
        ("teams/vision.yml", "queues:\n  - id: vision\n"),
        ("vision.json", '{"queues": []}'),
        ("vision.py", 'from policy import team\n\nVISION = team("vision")\n'),
    ],
)
def test_unread_declarations_are_found(name: str, text: str, tmp_path: Path) -> None:
    assert _unread(tmp_path, {name: text}) == [name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", TEAM),
        ("policy.py.bak", TEAM),
        ("sizes.py", "from apportion_policy import Resources\n\n\ndef half(n):\n    return Resources(gpu=n // 2)\n"),
        ("values.yaml", "queues: 3\nimage: x\n"),
        ("objects.yaml", "apiVersion: v1\nkind: List\nitems: []\n"),
        (".git/vision.py", TEAM),
        ("venv/pyvenv.cfg", ""),
        ("other.py", ENTRY),
    ],
)
def test_files_without_declarations_are_ignored(name: str, text: str, tmp_path: Path) -> None:
    assert _unread(tmp_path, {name: text}) == []


def test_folder_with_its_own_policy_is_ignored(tmp_path: Path) -> None:
    assert _unread(tmp_path, {"eu/policy.py": ENTRY, "eu/vision.py": TEAM}) == []
    assert _unread(tmp_path, {"us/policy.py": TEAM}) == ["us/policy.py"]


def test_too_large_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 2)
    (tmp_path / "policy.py").write_text(ENTRY)
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("x")
    entry = str(tmp_path / "policy.py")
    assert not unread_files(PolicyTree(str(tmp_path), entry), [entry]).all_seen


def test_blank_files_are_scanned_in_linear_time(tmp_path: Path) -> None:
    started_s = time.process_time()
    assert _unread(tmp_path, {"blank.py": "import apportion_policy\nx =" + " " * 200_000 + "1"}) == []
    assert time.process_time() - started_s < 5
