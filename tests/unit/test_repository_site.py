"""The documentation site: complete, without dead links or external resources."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

from apportion_cli.main import apportion
from apportion_cli.reference_pages import reference_pages
from apportion_cli.verbs import VERBS
from apportion_compiler.checks import RULES
from apportion_compiler.diagnostics.site import SITE, published

ROOT = Path(__file__).parents[2]


def test_every_command_has_a_page_with_each_of_its_options() -> None:
    pages = reference_pages()
    ctx = click.Context(apportion)
    for name in VERBS.keys() - {"dev"}:
        command = apportion.get_command(ctx, name)
        assert command is not None
        flags = {flag for option in command.get_params(ctx) for flag in option.opts if flag.startswith("--")}
        page = pages[f"commands/{name}.md"]
        assert {flag for flag in flags if flag not in page} == set(), name
        assert f"]({name}.md)" in pages["commands/index.md"]


def test_diagnostics_page_links_every_rule() -> None:
    listed = re.findall(r"^\| \[AP\d{3}\]\((AP[^)]*\.md)\)", reference_pages()["diagnostics/index.md"], re.MULTILINE)
    assert listed == [Path(rule.docs).name for rule in RULES.values()]


def test_site_address_matches_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Documentation"] == SITE


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert [page.name[:5] for page in pages] == [f"{number:04}-" for number in range(1, len(pages) + 1)]
    headings = [page.read_text(encoding="utf-8").splitlines()[0] for page in pages]
    assert [heading.split(". ")[0] for heading in headings] == [f"# {number}" for number in range(1, len(pages) + 1)]


def test_site_build_fails_on_warnings() -> None:
    """`--strict` counts the warnings that are logged, and `--quiet` logs none."""
    (command,) = re.findall(r"-m mkdocs build(.*)", (ROOT / "Makefile").read_text())
    assert "--strict" in command
    assert "--quiet" not in command


class _Assets(HTMLParser):
    """The addresses that a browser loads with a page, and the pages that a reader may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "img", "iframe", "source"} and given.get("src"):
            self.loaded.add(str(given["src"]))
        if tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload", "preconnect"}:
            self.loaded.add(str(given["href"]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    # A proxy that refuses: a plugin that asked the network would fail.
    unreachable = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out],
        cwd=ROOT,
        env={**os.environ, **unreachable, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return out


@pytest.mark.slow
def test_sarif_help_uris_exist(site: Path) -> None:
    addresses = [published(rule.docs).removeprefix(SITE) for rule in RULES.values()]
    assert [address for address in addresses if not (site / address).is_file()] == []


@pytest.mark.slow
def test_pages_contain_no_raw_markup(site: Path) -> None:
    """Python-Markdown takes a list or a fence that is indented otherwise than it likes for text."""
    markup = re.compile(r"<(?:p|li|td|dd)>[^<]*(?:```|\n(?:[-*]|\d+\.) )|<p>\|")
    assert {page.name for page in site.rglob("*.html") if markup.search(page.read_text(encoding="utf-8"))} == set()


@pytest.mark.slow
def test_pages_load_no_external_resources(site: Path) -> None:
    foreign = set()
    for page in site.rglob("*.html"):
        assets = _Assets()
        assets.feed(page.read_text(encoding="utf-8"))
        foreign |= {(page.name, address) for address in assets.loaded if re.match(r"(?:[a-z]+:)?//", address)}
    assert foreign == set()
