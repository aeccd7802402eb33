"""One file per team: explicit collection, with an error if nothing is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = "from apportion_policy import Organisation, Policy, Queue, collect\n"
_POLICY = _ROOT + 'policy = Policy(organisation=Organisation(name="a"), queues=collect("teams", Queue))\n'
_SHOW = "import runpy, sys; sys.path.insert(0, sys.argv[1]); print([q.id for q in runpy.run_path(sys.argv[1] + '/policy.py')['policy'].queues])"


def _ids(tmp_path: Path, teams: dict[str, str], policy: str = _POLICY) -> str:
    (tmp_path / "policy.py").write_text(policy)
    (tmp_path / "teams").mkdir(exist_ok=True)
    for name, text in teams.items():
        (tmp_path / "teams" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "teams" / name).write_text("from apportion_policy import Queue\n" + text)
    shown = subprocess.run([sys.executable, "-c", _SHOW, str(tmp_path)], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or shown.stderr.strip().splitlines()[-1]


def test_files_are_collected_by_name(tmp_path: Path) -> None:
    teams = {
        "b.py": 'B = Queue(id="b")\nB2 = [Queue(id="b2")]\n',
        "a.py": 'A = Queue(id="a")\n',
        "_sizes.py": "SMALL = 8\n",
        "__init__.py": "",
    }
    assert _ids(tmp_path, teams) == "['a', 'b', 'b2']"


def test_subfolders_are_collected(tmp_path: Path) -> None:
    teams = {"a.py": 'A = Queue(id="a")\n', "ml/vision.py": 'V = Queue(id="vision")\n', "ml/eu/__init__.py": ""}
    assert _ids(tmp_path, teams) == "['a', 'vision']"


def test_package_is_imported_once(tmp_path: Path) -> None:
    teams = {
        "ml/__init__.py": "from .vision import V\n",
        "ml/vision.py": 'V = Queue(id="vision")\n',
        "ml/speech.py": 'from teams.ml import V\nS = Queue(id="speech", parent=V)\n',
    }
    assert _ids(tmp_path, teams) == "['speech', 'vision']"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("_bi.py", "teams/_bi.py declares a Queue, but files whose names begin with _ are not collected: rename it"),
        ("ml/__init__.py", "teams/ml/__init__.py declares a Queue"),
        ("vision.PY", "teams/vision.PY is not read: rename it to vision.py"),
        ("ml/.vision.py", "teams/ml/.vision.py is not read: rename it to vision.py"),
    ],
)
def test_uncollected_file_is_an_error(name: str, said: str, tmp_path: Path) -> None:
    assert said in _ids(tmp_path, {"a.py": 'A = Queue(id="a")\n', name: 'V = Queue(id="vision")\n'})


def test_symlink_to_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams" / "ml").symlink_to(tmp_path / "elsewhere")
    assert "teams/ml is a symbolic link to a folder" in _ids(tmp_path, {"a.py": 'A = Queue(id="a")\n'})


def test_imported_declarations_belong_to_their_file(tmp_path: Path) -> None:
    teams = {"a.py": 'A = Queue(id="a")\n', "b.py": 'from teams.a import A\nB = Queue(id="b", parent=A)\n'}
    assert _ids(tmp_path, teams) == "['a', 'b']"


def test_helper_declarations_belong_to_the_calling_file(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text("from apportion_policy import Queue\ndef team(name): return Queue(id=name)\n")
    assert _ids(tmp_path, {"a.py": 'from shapes import team\nA = team("a")\n'}) == "['a']"


def test_file_without_declaration_is_an_error(tmp_path: Path) -> None:
    assert "teams/a.py declares no Queue" in _ids(tmp_path, {"a.py": "X = 1\n"})


def test_empty_folder_is_an_error(tmp_path: Path) -> None:
    assert "contains no Python file" in _ids(tmp_path, {})


def test_exception_is_reported_in_its_file(tmp_path: Path) -> None:
    assert "ZeroDivisionError" in _ids(tmp_path, {"a.py": "1 / 0\n"})
