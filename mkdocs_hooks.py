"""Hooks of MkDocs: pages that docs/ does not hold, patterns in the navigation, links that leave docs/.

A link that leaves docs/ leads to a copy of its file in the site, so that the site needs no repository to point at.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from apportion_cli.reference_pages import reference_pages
from apportion_compiler.diagnostics.site import SITE

_ROOT = Path(__file__).parent
_PROJECT = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "vulnerabilities.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
_SECTION = re.compile("^## ", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Expand the patterns of the navigation."""
    config.site_url = SITE
    names = {page.relative_to(_ROOT / "docs").as_posix() for page in (_ROOT / "docs").rglob("*.md")}
    config.nav = list(_expanded(config.nav or [], sorted(names | reference_pages().keys())))
    return config


def _expanded(entries: list[Any], names: list[str]) -> Iterator[Any]:
    listed = set(_paths(entries))
    for entry in entries:
        if isinstance(entry, dict):
            yield {
                title: list(_expanded(below, names)) if isinstance(below, list) else below
                for title, below in entry.items()
            }
        elif "*" in entry:
            yield from (name for name in fnmatch.filter(names, entry) if name not in listed)
        else:
            yield entry


def _paths(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            yield from _paths(value) if isinstance(value, list) else (value,)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ does not hold, and the files that its pages link to."""
    for name, text in reference_pages().items():
        files.append(File.generated(config, name, content=text))
    for source, name in _PROJECT.items():
        files.append(File.generated(config, name, content=(_ROOT / source).read_text(encoding="utf-8")))
    for linked in sorted(_linked_outside()):
        files.append(File.generated(config, _place(linked), abs_src_path=str(_ROOT / linked)))
    return files


def _linked_outside() -> set[str]:
    found = set()
    sources = [*(page.relative_to(_ROOT).as_posix() for page in (_ROOT / "docs").rglob("*.md")), *_PROJECT]
    for source in sources:
        for link in _LINK.finditer((_ROOT / source).read_text(encoding="utf-8")):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["path"]))
            if not target.startswith(("docs/", "..")) and target not in _PROJECT and (_ROOT / target).is_file():
                found.add(target)
    return found


def _place(path: str) -> str:
    """Return where a file of the repository is in the site."""
    return _PROJECT.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to where their files are in the site."""
    here = page.file.src_uri
    if here == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    elif not _SECTION.search(markdown):
        page.meta["hide"] = ["toc"]
    sources = {place: source for source, place in _PROJECT.items()}
    source = sources.get(here, f"docs/{here}")

    def replaced(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["path"]))
        if f"{target}/index.md".removeprefix("docs/") in reference_pages():
            target += "/index.md"
        elif not (_ROOT / target).is_file():
            return link[0]
        return posixpath.relpath(_place(target), posixpath.dirname(here) or ".") + (link["anchor"] or "")

    return _LINK.sub(replaced, _indented(markdown))


def _indented(markdown: str) -> str:
    """Return Markdown whose lists Python-Markdown reads as CommonMark does.

    What belongs to an item is indented by four spaces, and an item stands apart from a paragraph before it.
    """
    lines: list[str] = []
    width, fenced, has_paragraphs = 0, False, False
    for line in markdown.splitlines():
        item = None if fenced else _ITEM.match(line)
        if line.startswith("```"):
            fenced = not fenced
        if item:
            if lines and lines[-1].strip() and (not width or has_paragraphs):
                lines.append("")
            width, has_paragraphs = len(item[0]), False
        elif not fenced and line[:1].strip():
            width = 0
        elif not line.strip():
            has_paragraphs = True
        belongs = not fenced and 0 < width < 4 and line.startswith(" " * width)
        lines.append(" " * (4 - width) + line if belongs else line)
    return "\n".join(lines) + "\n"
