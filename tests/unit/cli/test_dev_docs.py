"""`apportion dev docs`: all tables or none, and an error for a page without its markers."""

from __future__ import annotations

import shutil
from pathlib import Path

from apportion_cli.fidelity_evidence import EVIDENCE, RECORDING
from apportion_compiler.backends.capability_table import table_markers

from .conftest import Run

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
BEGIN, END = table_markers()


def _pages() -> dict[str, str]:
    for name in ("backends", "fidelity.md", "delivery.md", "language.md"):
        source = DOCS / name
        if source.is_dir():
            shutil.copytree(source, Path("docs") / name)
        else:
            shutil.copy(source, Path("docs") / name)
    folder = Path(EVIDENCE).parent
    for source in (ROOT / EVIDENCE, *(ROOT / folder).glob(f"*/{RECORDING}")):
        copy = source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    return _texts()


def _texts() -> dict[str, str]:
    return {str(page): page.read_text(encoding="utf-8") for page in Path("docs").rglob("*.md")}


def test_page_without_markers_is_refused(run: Run) -> None:
    Path("docs").mkdir()
    _pages()
    page = Path("docs/backends/volcano.md")
    page.write_text(page.read_text(encoding="utf-8").replace(BEGIN, ""), encoding="utf-8")
    fidelity = Path("docs/fidelity.md")
    fidelity.write_text(fidelity.read_text(encoding="utf-8").replace("| approximated", "| exact"), encoding="utf-8")
    before = _texts()
    result = run("dev", "docs")
    assert (result.code, result.out) == (3, "")
    assert f"docs/backends/volcano.md: the page does not contain the markers {BEGIN} and {END}" in result.err
    assert "internal error" not in result.err
    assert _texts() == before


def test_missing_page_is_refused(run: Run) -> None:
    Path("docs").mkdir()
    _pages()
    Path("docs/backends/yunikorn.md").unlink()
    result = run("dev", "docs")
    assert (result.code, result.out) == (3, "")
    assert "docs/backends/yunikorn.md does not exist" in result.err
    assert "create it as described in CONTRIBUTING.md" in result.err


def test_command_requires_a_checkout(run: Run) -> None:
    result = run("dev", "docs")
    assert result.code == 3
    assert "run this command in the root directory of a checkout" in result.err


def test_pages_are_written(run: Run) -> None:
    Path("docs").mkdir()
    before = _pages()
    result = run("dev", "docs")
    assert (result.code, result.err) == (0, "")
    assert _texts() == before


def test_evidence_of_an_unknown_test_is_refused(run: Run) -> None:
    Path("docs").mkdir()
    before = _pages()
    evidence = Path(EVIDENCE)
    evidence.write_text(evidence.read_text(encoding="utf-8").replace("[kai-refused]", "[kai-rejected]"))
    result = run("dev", "docs")
    assert (result.code, result.out) == (3, "")
    assert f"{EVIDENCE}: `cells` names kai-rejected, which is not in `tests`" in result.err
    assert _texts() == before


def test_missing_evidence_is_refused(run: Run) -> None:
    Path("docs").mkdir()
    before = _pages()
    Path(EVIDENCE).unlink()
    result = run("dev", "docs")
    assert (result.code, result.out) == (3, "")
    assert f"{EVIDENCE}: No such file or directory" in result.err
    assert _texts() == before
