"""Random edits of a rendered tree: a comparison is empty exactly when no byte and no entry differs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion_compiler.backends.capability import Artifact, Manifest, Output
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.emit.output_folder import LinkedPathError, open_output
from apportion_compiler.emit.tree import render_target
from apportion_compiler.emit.tree_files import compare_tree, entries_outside, former_objects, stage_tree

pytestmark = pytest.mark.property

TREE = "prod/main/kai"
_QUEUES = tuple(
    Manifest({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": {}})
    for name in ("a", "b", "c")
)
_OUTPUT = Output(_QUEUES[:2], (Artifact("values.yaml", f"# {GENERATED}\na: 1\n"),))
_FORMER = Output(_QUEUES, ())

Edit = Callable[[Path], None]


def _content(offset: int, byte: int) -> Callable[[Path], None]:
    def edit(file: Path) -> None:
        if file.is_file() and not file.is_symlink():
            data = bytearray(file.read_bytes())
            if data:
                data[offset % len(data)] = byte
                file.write_bytes(bytes(data))

    return edit


def _deletion(file: Path) -> None:
    if not file.is_dir() or file.is_symlink():
        file.unlink(missing_ok=True)


def _link(file: Path) -> None:
    _deletion(file)
    if not file.exists():
        file.symlink_to("/etc/hostname")


def _folder(file: Path) -> None:
    _deletion(file)
    file.mkdir(exist_ok=True)
    (file / "x").write_text("x")


def _text(text: str) -> Callable[[Path], None]:
    def edit(file: Path) -> None:
        if not file.is_dir() and not file.is_symlink():
            file.write_text(text, encoding="utf-8")

    return edit


_NAMES = st.sampled_from(
    [
        *(f"{TREE}/{name}" for name in ("10-queue.yaml", "inventory.json", "prune.json", "prune-allowlist.txt")),
        *(f"{TREE}/{name}" for name in ("kustomization.yaml", "values.yaml", "new.yaml", ".hidden")),
        "prod/main/README.md",
        "extra.yaml",
    ]
)
_EDITS = st.one_of(
    st.builds(_content, st.integers(0, 5000), st.integers(0, 255)),
    st.just(_deletion),
    st.just(_link),
    st.just(_folder),
    st.builds(_text, st.sampled_from(["", "{", "[]", '{"objects": []}', f"# {GENERATED}\n", "kind: Namespace\n"])),
)


def _entries(root: Path) -> dict[str, bytes | str]:
    """Return every file and link; empty folders are ignored, as in git."""
    found: dict[str, bytes | str] = {}
    for folder, folders, names in os.walk(root):
        for name in (*names, *(name for name in folders if Path(folder, name).is_symlink())):
            path = Path(folder, name)
            found[path.relative_to(root).as_posix()] = str(path.readlink()) if path.is_symlink() else path.read_bytes()
    return found


def _differs(root: Path) -> bool:
    with open_output(root, writing=False) as folder:
        try:
            files = render_target(_OUTPUT, {}, former_objects(folder, TREE))
        except (ValueError, LinkedPathError):
            return True
        return not compare_tree(folder, TREE, files).is_empty or bool(entries_outside(folder, [TREE]))


def _check(pristine: Path, root: Path, edits: list[tuple[str, Callable[[Path], None]]]) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(pristine, root)
    for name, edit in edits:
        edit(root / name)
    assert _differs(root) == (_entries(root) != _entries(pristine))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree with an object that is still to be pruned."""
    root = tmp_path_factory.mktemp("rendered")
    for output in (_FORMER, _OUTPUT):
        with open_output(root, writing=True) as folder:
            assert folder is not None
            files = render_target(output, {}, former_objects(folder, TREE))
            stage_tree(folder, TREE, files, compare_tree(folder, TREE, files))
            folder.commit()
    return root


_LISTS = st.lists(st.tuples(_NAMES, _EDITS), max_size=3)


@given(_LISTS)
def test_check_passes_only_without_differences(pristine: Path, edits: list[tuple[str, Callable[[Path], None]]]) -> None:
    _check(pristine, pristine.with_name("edited"), edits)


@pytest.mark.slow
@settings(max_examples=1_500)
@given(_LISTS)
def test_check_detects_thousands_of_edits(pristine: Path, edits: list[tuple[str, Callable[[Path], None]]]) -> None:
    _check(pristine, pristine.with_name("edited"), edits)
