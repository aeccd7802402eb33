"""`apportion dev`: development commands."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.commands.kai_case import kai_case
from apportion_cli.console import Console, current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from apportion_cli.fidelity_evidence import Evidence


@click.group()
def dev() -> None:
    """Development commands for contributors."""


dev.add_command(kai_case)


@dev.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/demo"), show_default=True)
@console_options
def demo(out: Path) -> int:
    """Validate the example organisation, draw it, compile it for every environment and engine, and simulate a scenario."""
    from apportion_cli.commands.doctor import confines_untrusted
    from apportion_cli.demo_tables import clusters_text, fidelity_text

    example = Path("examples/acme")
    if not (example / "policy.py").is_file():
        raise PreconditionError("examples/acme is missing", hint="run this command in the root directory of a checkout")
    reports = {form: out / f"report.{form}" for form in ("json", "text")}
    wanted = [part for form, file in reports.items() for part in ("-o", f"{form}={file}")]
    steps = (
        ("is the policy valid?", ["validate", str(example)]),
        ("what is each queue guaranteed on the first production cluster?", _DRAWN),
        ("which objects are generated for each engine?", ["compile", str(example), "--out", str(out), *wanted]),
    )
    console = current()
    out.mkdir(parents=True, exist_ok=True)
    # The examples are part of the repository.
    permitted = [] if confines_untrusted() else ["--allow-missing-layers"]
    for question, arguments in steps:
        _show(console, question, [*arguments, *permitted])
    report = reports["json"].read_text(encoding="utf-8")
    console.out(clusters_text(report))
    console.out(f"\n# how well does each target support each feature of the policy?\n\n{fidelity_text(report)}")
    console.out(
        f"\napprox: {reports['text']} lists what is lost. AP5xx: the engine has no field for the feature.\n"
        f"The rendered trees are in {out}. Next: apportion bind nlp --kind RayJob -p {example} --env prod --cluster gpu-eu"
    )
    page = out / "report.html"
    simulated = ["simulate", str(_SIMULATED), "--scenario", str(_SIMULATED / "scenario.yaml")]
    _show(
        console,
        "which workloads run, which wait, and which are evicted?",
        [*simulated, *permitted, "-o", "story", "-o", f"html={page}"],
    )
    console.out(
        f"\nOpen {page} in a browser to see queues, workloads and wait times; {_SIMULATED}/README.md explains them."
    )
    return ExitCode.OK


def _show(console: Console, question: str, arguments: list[str]) -> None:
    """Show a command and what it prints. Raises `PreconditionError` if it fails."""
    console.out(f"\n# {question}\n$ apportion {' '.join(arguments)}\n")
    finished = subprocess.run([sys.executable, "-P", "-m", "apportion_cli.main", *arguments], check=False)
    if finished.returncode:
        raise PreconditionError(f"`apportion {arguments[0]}` exited with code {finished.returncode}")


_SIMULATED = Path("examples/seed-001-kai-vllm")
_DRAWN = ["graph", "examples/acme", "--env", "prod", "--cluster", "gpu-eu"]


@dev.command()
@console_options
def docs() -> int:
    """Regenerate the tables in the documentation: features of each target, fields of the policy language."""
    from apportion_cli.fidelity_evidence import with_fidelity_tables
    from apportion_cli.language_page import with_field_tables
    from apportion_compiler.backends import BACKENDS
    from apportion_compiler.backends.capability_table import (
        capability_table,
        condition_table,
        with_table,
    )

    console = current()
    tables = {f"backends/{name}.md": capability_table(backend) for name, backend in BACKENDS.items()}
    tables["delivery.md"] = condition_table(BACKENDS.values())
    pages: dict[Path, str] = {}
    for name, table in tables.items():
        page = Path("docs") / name
        pages[page] = _with_tables(page, partial(with_table, table=table))
    fidelity = Path("docs/fidelity.md")
    pages[fidelity] = _with_tables(
        fidelity, partial(with_fidelity_tables, backends=BACKENDS.values(), evidence=_evidence())
    )
    language = Path("docs/language.md")
    pages[language] = with_field_tables(_page_text(language))
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")
        console.out(f"  wrote {page}")
    return ExitCode.OK


def _with_tables(page: Path, regenerated: Callable[[str], str]) -> str:
    """Return the text of a page with its tables regenerated. Raises `PreconditionError` if a marker is missing."""
    text = _page_text(page)
    try:
        return regenerated(text)
    except ValueError as error:
        raise PreconditionError(
            f"{page}: {error}", hint="add the two marker lines where the table belongs; no page was written"
        ) from error


def _evidence() -> Evidence:
    """Return the evidence of the checkout. Raises `PreconditionError` if it is missing or names something unknown."""
    from apportion_cli.fidelity_evidence import read_evidence

    try:
        return read_evidence(Path())
    except OSError as error:
        raise PreconditionError(
            f"{error.filename}: {error.strerror}", hint="run this command in the root directory of a checkout"
        ) from error
    except ValueError as error:
        raise PreconditionError(str(error), hint="no page was written") from error


def _page_text(page: Path) -> str:
    """Return the text of a page. Raises `PreconditionError` if it does not exist."""
    if not page.is_file():
        where = "run this command in the root directory of a checkout"
        raise PreconditionError(
            f"{page} does not exist",
            hint="create it as described in CONTRIBUTING.md" if page.parent.is_dir() else where,
        )
    return page.read_text(encoding="utf-8")
