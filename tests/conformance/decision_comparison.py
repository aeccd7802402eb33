"""Compare a simulated engine with the decisions of another version of the engine: `make conformance-refresh`.

The decisions come from a program that runs the engine's own code on the recorded cases, or on others, and writes them in
the same format. That program is not part of the repository. See CONTRIBUTING.md.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from tests.conformance.recorded_engines import ENGINES, Case, Decisions, RecordedEngine

from apportion_cli.exit_codes import ExitCode
from apportion_cli.fidelity_evidence import RECORDING

HERE = Path(__file__).parent
_COMPRESSED = ".gz"


class UnreadableCasesError(click.ClickException):
    """A file of cases that cannot be read: file, line, and why."""

    exit_code = int(ExitCode.CANNOT)


@dataclass(frozen=True)
class Difference:
    """The decisions of a case that only the engine makes, and those that only the simulation makes."""

    name: str
    missing: Decisions
    extra: Decisions


def read_cases(file: Path, engine: RecordedEngine, keys: frozenset[str]) -> Iterator[Case]:
    """Yield the cases of a file. Raises `UnreadableCasesError` for a line without one, or a name that occurs twice."""
    names: dict[str, int] = {}
    for number, line in enumerate(_lines(file), 1):
        where = f"{file}:{number}"
        try:
            case = json.loads(line)
        except json.JSONDecodeError as error:
            raise UnreadableCasesError(f"{where}: {error}") from error
        lacking = sorted(keys - set(case)) if isinstance(case, dict) else sorted(keys)
        if lacking:
            raise UnreadableCasesError(f"{where}: the case lacks {', '.join(lacking)}; see {engine.folder}/README.md")
        name = engine.name(case)
        if name in names:
            raise UnreadableCasesError(f"{where}: case {name} is already on line {names[name]}")
        names[name] = number
        yield case


def _lines(file: Path) -> Iterator[str]:
    try:
        if file.suffix == _COMPRESSED:
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                yield from lines
        else:
            with file.open(encoding="utf-8") as lines:
                yield from lines
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UnreadableCasesError(f"{file}: {error}") from error


def difference(engine: RecordedEngine, case: Case) -> Difference:
    """Return the differences from the nearest outcome of the engine."""
    simulated = engine.simulated(case)
    return min(
        (_difference(engine.name(case), recorded, simulated) for recorded in engine.recorded(case)),
        key=lambda found: len(found.missing) + len(found.extra),
    )


def _difference(name: str, recorded: Decisions, simulated: Decisions) -> Difference:
    missing, extra = Counter(recorded) - Counter(simulated), Counter(simulated) - Counter(recorded)
    return Difference(name, [*_of(recorded, missing)], [*_of(simulated, extra)])


def _of(decisions: Decisions, counted: Counter[str]) -> Iterator[str]:
    """Yield the counted decisions in their order."""
    left = counted.copy()
    for decision in decisions:
        if left[decision]:
            left[decision] -= 1
            yield decision


def replace_recording(folder: Path, name: str, cases: Sequence[Case], sources: Sequence[Mapping[str, str]]) -> None:
    """Write the cases and the versions that they were recorded from; the same cases give the same bytes."""
    text = "".join(f"{json.dumps(case, separators=(',', ':'))}\n" for case in cases).encode()
    (folder / name).write_bytes(gzip.compress(text, mtime=0) if name.endswith(_COMPRESSED) else text)
    recording = folder / RECORDING
    document: dict[str, Any] = json.loads(recording.read_text(encoding="utf-8"))
    document[name] = [dict(source) for source in sources]
    recording.write_text(f"{json.dumps(document, indent=2)}\n", encoding="utf-8")


@click.command()
@click.argument("engine", type=click.Choice(sorted(ENGINES)))
@click.argument("cases", type=click.Path(path_type=Path))
@click.option("--replace", "replaced", metavar="FILE", help="Replace this file of the recorded cases by CASES.")
@click.option(
    "--source",
    "sources",
    nargs=3,
    multiple=True,
    metavar="PROJECT VERSION COMMIT",
    help="What decided CASES; required by --replace.",
)
@click.option("--show", default=10, show_default=True, help="Decisions to print for each case.")
@click.option("--recordings", type=click.Path(path_type=Path), default=HERE, hidden=True)
def main(
    engine: str, cases: Path, replaced: str | None, sources: Sequence[Sequence[str]], show: int, recordings: Path
) -> None:
    """Compare the simulated ENGINE with the engine's own decisions on CASES, a JSONL file, and exit with 1 if any differs."""
    compared = ENGINES[engine]
    folder = recordings / compared.folder
    files = sorted(json.loads((folder / RECORDING).read_text(encoding="utf-8")))
    if replaced is not None and replaced not in files:
        raise click.BadParameter(f"{compared.folder} has {', '.join(files)}", param_hint="--replace")
    if (replaced is None) != (not sources):
        raise click.UsageError("--replace and --source belong together")
    keys = frozenset(json.loads(next(_lines(HERE / compared.folder / files[0]))))
    found = list(read_cases(cases, compared, keys))
    differing = [each for case in found if (each := difference(compared, case)).missing or each.extra]
    for each in differing:
        _show(each, show)
    n_decisions = sum(len(each.missing) + len(each.extra) for each in differing)
    click.echo(f"{len(differing):,} of {len(found):,} cases differ, in {n_decisions:,} decisions")
    if replaced is not None:
        named = [dict(zip(("project", "version", "commit"), source, strict=True)) for source in sources]
        replace_recording(folder, replaced, found, named)
        click.echo(f"wrote {folder / replaced} and {folder / RECORDING}")
    raise SystemExit(ExitCode.FINDINGS if differing else ExitCode.OK)


def _show(found: Difference, most: int) -> None:
    click.echo(f"case {found.name}")
    lines = [
        *(f"  engine only:     {each}" for each in found.missing),
        *(f"  simulation only: {each}" for each in found.extra),
    ]
    for line in lines[:most]:
        click.echo(line)
    if len(lines) > most:
        click.echo(f"  and {len(lines) - most:,} more")


if __name__ == "__main__":
    main()
