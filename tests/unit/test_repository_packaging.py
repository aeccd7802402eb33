"""The distribution: its version, and a wheel that works outside this tree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from apportion_cli.main import main
from apportion_cli.reference_pages import reference_pages
from apportion_compiler.diagnostics.site import SITE

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = tuple(Path(name) for name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
APPORTION = Path(sys.executable).with_name("apportion")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    ran = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_version_option_matches_the_distribution() -> None:
    assert run(APPORTION, "--version", cwd=ROOT) == f"apportion {metadata.version('apportion')}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder that has this project's settings of the version, and nothing else of it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    for name in ("README.md", "LICENSE"):
        (folder / name).touch()
    return folder


def built_version(tree: Path) -> str:
    return run(sys.executable, "-m", "hatchling", "version", cwd=tree).strip()


def git(tree: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.com")
    run("git", *identity, *arguments, cwd=tree, GIT_CONFIG_GLOBAL=os.devnull)


@pytest.mark.slow
def test_version_comes_from_the_tag(tree: Path) -> None:
    """With git or without, whatever the number of commits: a shallow clone and an archive build what a clone builds."""
    fallback = PROJECT["tool"]["hatch"]["version"]["fallback-version"]
    assert built_version(tree) == fallback
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "first")
    assert built_version(tree) == fallback
    git(tree, "tag", "v1.2.3")
    assert built_version(tree) == "1.2.3"
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "second")
    assert built_version(tree) == fallback


def test_every_package_is_typed() -> None:
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


def test_every_package_is_distributed_and_checked() -> None:
    """The lists that a package is added to by one line each, and the packages that there are."""
    there_are = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/apportion_*/__init__.py")}
    tool = PROJECT["tool"]
    assert {package.as_posix() for package in PACKAGES} == there_are
    assert set(tool["mypy"]["files"]) == there_are
    assert set(tool["hatch"]["build"]["dev-mode-dirs"]) == {Path(name).parent.as_posix() for name in there_are}
    assert set(tool["importlinter"]["root_packages"]) == {Path(name).name for name in there_are}
    assert set(tool["coverage"]["run"]["source_pkgs"]) == {Path(name).name for name in there_are}


@pytest.mark.slow
def test_rendered_output_is_independent_of_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = []
    for number, version in enumerate(("0.1.0.dev0", "9.9.9")):
        monkeypatch.setattr(metadata, "version", lambda _, version=version: version)
        out = tmp_path / str(number)
        assert main(["compile", str(ROOT / "examples/seed-001-kai-vllm"), "--out", str(out)]) == 0
        rendered.append({file.relative_to(out): file.read_bytes() for file in out.rglob("*") if file.is_file()})
    assert rendered[0] == rendered[1] != {}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", out, cwd=ROOT)
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.slow
def test_wheel_contains_exactly_the_packages(wheel: Path) -> None:
    """Templates, the scaffold and py.typed are data, which a build leaves out without a word."""
    expected = {
        (Path(folder) / name).relative_to(ROOT / package.parent).as_posix()
        for package in PACKAGES
        for folder, _, names in os.walk(ROOT / package, followlinks=True)
        for name in names
        if "__pycache__" not in folder
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == expected


@pytest.mark.slow
def test_wheel_description_links_to_published_pages(wheel: Path) -> None:
    """The package index resolves no link that is relative to the repository."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        description = archive.read(name).decode().partition("\n\n")[2]
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert [link for link in links if not link.startswith("https://")] == []
    pages = {link.removeprefix(SITE).partition("#")[0].removesuffix(".html") for link in links if link.startswith(SITE)}
    assert len(pages) > 20
    there_are = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    there_are |= {name.removesuffix(".md") for name in reference_pages()} | {"changelog", "contributing"}
    assert pages <= there_are


@pytest.mark.slow
def test_wheel_installs_into_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    run(environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=tmp_path)
    version = wheel.name.split("-")[1]
    assert run(environment / "bin/apportion", "--version", cwd=tmp_path) == f"apportion {version}\n"
    run(environment / "bin/apportion", "init", "organisation", cwd=tmp_path)
    run(environment / "bin/apportion", "validate", cwd=tmp_path / "organisation")


@pytest.mark.slow
def test_wheel_works_on_its_own(wheel: Path, tmp_path: Path) -> None:
    """A scaffolded policy compiles with the installed wheel alone in front of this tree."""
    site = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", "--no-deps", "--no-index", "--target", site, wheel, cwd=tmp_path)
    script = site / "bin" / "apportion"
    where = run(
        sys.executable, "-c", "import apportion_cli; print(apportion_cli.__file__)", cwd=tmp_path, PYTHONPATH=str(site)
    )
    assert Path(where.strip()).is_relative_to(site)
    run(script, "init", "organisation", cwd=tmp_path, PYTHONPATH=str(site))
    run(script, "validate", cwd=tmp_path / "organisation", PYTHONPATH=str(site))
    run(script, "compile", cwd=tmp_path / "organisation", PYTHONPATH=str(site))
    assert list((tmp_path / "organisation" / "rendered").rglob("kustomization.yaml"))
