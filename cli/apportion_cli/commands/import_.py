"""`apportion import`: the objects of an engine as a policy in typed Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from apportion_api.counted_nouns import counted
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.verbosity import console_options
from apportion_policy.engine import Engine

if TYPE_CHECKING:
    from apportion_compiler.readers.record import Note

ENGINES = tuple(engine.value for engine in Engine)


@click.command(name="import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH...")
@click.option("--from", "engine", required=True, type=click.Choice(ENGINES), help="Engine to import from.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Directory to write the policy to.",
)
@click.option("--organisation", metavar="NAME", help="Name of the organisation (default: the directory's name).")
@click.option("--owner", metavar="OWNER", help="Owner, such as @acme/platform, for queues without one.")
@click.option(
    "--environment", metavar="NAME", help="Name of the environment (default: read from the objects, or prod)."
)
@click.option("--cluster", metavar="NAME", default="main", show_default=True)
@click.option(
    "--engine-version", metavar="VERSION", help="Installed version of the engine (default: the newest supported)."
)
@click.option("--accept-loss", is_flag=True, help="Exit with 0 even if fields are dropped.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@console_options
def import_(
    paths: tuple[str, ...],
    engine: str,
    out: Path,
    *,
    organisation: str | None,
    owner: str | None,
    environment: str | None,
    cluster: str,
    engine_version: str | None,
    accept_loss: bool,
    force: bool,
) -> int:
    """Generate a policy from the queues of an existing cluster: policy.py, and a file in teams/ for each team.

    PATH is a file, a directory, or - for standard input, in YAML or JSON as kubectl prints it. Fields that the policy
    cannot represent are reported with their values, on the terminal and in a comment at the top of the generated file;
    the exit code is then 1 unless --accept-loss is passed.

    \b
    kubectl get clusterqueues,cohorts,localqueues,resourceflavors -A -o yaml \\
      | apportion import --from kueue --out policy -
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.policy_import import ImportOptions, imported

    console = current()
    wanted = ImportOptions(engine, organisation or out.resolve().name, owner, environment, cluster, engine_version)
    files, notes = imported(paths, wanted)
    in_the_way = [name for name in files if (out / name).exists()]
    if in_the_way and not force:
        raise PreconditionError(
            f"{out} already contains {', '.join(in_the_way[:5])}{' …' if len(in_the_way) > 5 else ''}; nothing was written",
            hint="choose an empty directory, or pass --force to overwrite these files",
        )
    _write(out, files)
    others = sorted(p.name for p in (out / "teams").glob("*.py") if f"teams/{p.name}" not in files) if force else []
    _say(notes, others)
    for name in files:
        console.report(f"  wrote {out / name}")
    folder = quote(str(out))
    console.report(f"\nNext:\n  apportion validate {folder}\n  apportion compile {folder}")
    lost = sum(note.lost for note in notes)
    if lost and not accept_loss:
        console.err(f"apportion: {counted(lost, 'field')} dropped; pass --accept-loss to exit with 0")
        return ExitCode.FINDINGS
    return ExitCode.OK


def _write(out: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = out / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as refused:
            raise PreconditionError(f"{path} cannot be written: {refused.strerror}") from refused


def _say(notes: tuple[Note, ...], others: list[str]) -> None:
    from apportion_policy.evaluation.sanitized_text import plain_text

    console = current()
    for note in notes:
        console.err(f"apportion: {plain_text(f'{note.object}: {note.text}')}")
    if others:
        console.err(f"apportion: teams/ contains other files, which are part of the policy: {', '.join(others)}")
