"""Files that an author adds to a repository give access to nothing outside it, and to nothing hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion_policy.evaluation.read_access import readable_paths
from apportion_policy.evaluation.tree import locate

pytestmark = pytest.mark.security


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    policy = tmp_path / "work" / "checkout" / "policies" / "policy.py"
    policy.parent.mkdir(parents=True)
    policy.write_text("")
    (tmp_path / "work" / "credentials.json").write_text("secret")
    return policy


@pytest.mark.parametrize("marker", [".git", "pyproject.toml", "apportion.toml"])
def test_added_package_opens_no_outside_folder(marker: str, entry: Path) -> None:
    checkout = entry.parents[1]
    (checkout / marker).mkdir()
    (checkout / ".git").mkdir(exist_ok=True)
    for folder in (entry.parent, checkout):
        (folder / "__init__.py").write_text("")
    root = locate(entry).root
    assert root == str(checkout)
    assert not readable_paths(root).may_read(str(checkout.parent / "credentials.json"))


@pytest.mark.parametrize("above", [(), ("pyproject.toml",), ("apportion.toml",)])
@pytest.mark.parametrize("left", [(), ("pyproject.toml",), ("apportion.toml",)])
def test_branch_files_open_no_folder_without_a_repository(
    left: tuple[str, ...], above: tuple[str, ...], entry: Path
) -> None:
    """Markers other than `.git` do not extend the readable root, whether in the branch or above the checkout."""
    checkout = entry.parents[1]
    for folder in (entry.parent, checkout):
        (folder / "__init__.py").write_text("")
    for folder, markers in ((checkout, left), (checkout.parents[1], above)):
        for marker in markers:
            (folder / marker).write_text("")
    assert locate(entry).root == str(entry.parent)
    assert not readable_paths(str(entry.parent)).may_read(str(checkout / "__init__.py"))


def test_git_file_bounds_the_readable_tree(entry: Path) -> None:
    (entry.parents[1] / ".git").write_text("gitdir: /somewhere/else\n")
    for folder in (entry.parent, entry.parents[1]):
        (folder / "__init__.py").write_text("")
    assert locate(entry).root == str(entry.parents[1])


def test_package_parent_is_readable_within_the_repository(entry: Path) -> None:
    (entry.parents[1] / ".git").mkdir()
    (entry.parent / "__init__.py").write_text("")
    assert locate(entry).root == str(entry.parents[1])


def test_hidden_files_stay_unreadable_beyond_the_search_limit(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apportion_policy.evaluation.read_access._MAX_FOLDERS_SEARCHED", 5)
    for number in range(10):
        folder = entry.parent / f"a{number}"
        folder.mkdir()
        (folder / ".env").write_text("secret")
        (folder / "part.py").write_text("")
    readable = readable_paths(str(entry.parent))
    assert not any(readable.may_read(str(entry.parent / f"a{number}" / ".env")) for number in range(10))
    assert readable.may_read(str(entry.parent / "a0" / "part.py"))
    assert not readable.may_read(str(entry.parent / "a9" / "part.py"))


def test_installed_modules_of_other_languages_are_not_readable(entry: Path) -> None:
    hidden = entry.parent / "node_modules" / ".cache" / "token"
    hidden.parent.mkdir(parents=True)
    hidden.write_text("secret")
    assert not readable_paths(str(entry.parent)).may_read(str(hidden))
