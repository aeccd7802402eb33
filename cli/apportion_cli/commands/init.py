"""`apportion init`: create a policy that compiles."""

from __future__ import annotations

import re
from pathlib import Path

import click

from apportion_cli.commands.version import version_text
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.scaffold import LOCK_COMMAND, SERVICES, scaffold_files
from apportion_cli.verbosity import console_options


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--organisation", help="Name of the organisation (default: the directory's name).")
@click.option(
    "--ci",
    "service",
    type=click.Choice(SERVICES),
    default="github",
    show_default=True,
    help="CI system to generate pipelines for.",
)
@click.option("--pulumi", is_flag=True, help="Also write a Pulumi project with a stack for each environment.")
@console_options
def init(directory: Path, organisation: str | None, *, service: str, pulumi: bool) -> None:
    """Create a starter policy that compiles as it is, with CI workflows and pre-commit hooks.

    With --pulumi, the workflows also comment on pull requests with a preview, and apply merged changes to each
    environment.

    Existing files are never overwritten; if one of them conflicts, nothing is written.

    \b
    apportion init policy --ci github
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    console = current()
    name = _organisation_name(organisation or directory.resolve().name)
    wanted = scaffold_files(name, version_text(), with_pulumi=pulumi, service=service)
    in_the_way = [path for path in wanted if (directory / path).exists()]
    if in_the_way:
        raise PreconditionError(
            f"{directory} already contains {', '.join(in_the_way)}; nothing was written",
            hint="choose an empty directory: apportion init quotas",
        )
    for path, text in wanted.items():
        _write(directory / path, text)
        console.report(f"  wrote {path}")
    where = "" if directory == Path() else f" {directory}"
    stack = f"\n  apportion preview dev{f' --dir{where}' if where else ''}" if pulumi else ""
    console.report(
        f"\nNext:\n  apportion validate{where}\n  apportion graph{where}\n  apportion compile{where}{stack}"
        f"\n\nThe pipelines install the versions pinned in ci/requirements.txt; generate it{' there' if where else ''} with:"
        f"\n  {LOCK_COMMAND}"
    )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as refused:
        raise PreconditionError(f"{path} cannot be written: {refused.strerror}") from refused


def _organisation_name(text: str) -> str:
    """Return text as a valid name: lower case, dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-") or "acme"
