"""`apportion dev kai-case`: run clusters in the format of KAI Scheduler's test tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from apportion_api.counted_nouns import counted
from apportion_cli.bounded_text import text_of
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, output_option
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from typing import Any

_ALL = "all"
_MAX_CHARACTERS = 256 * 1024**2


@click.command("kai-case")
@click.argument("file", type=click.Path(), metavar="FILE")
@click.option(
    "--case", "number", type=click.IntRange(0), metavar="N", help="Run only the case with this index, starting at 0."
)
@click.option(
    "--rounds", type=click.IntRange(1, 1000), metavar="N", help="Number of rounds to run (default: set by the case)."
)
@click.option(
    "--actions",
    metavar="LIST",
    help="Actions to run in each round: all, or a comma-separated list (default: set by the case).",
)
@output_option("json")
@console_options
def kai_case(
    file: str, number: int | None, rounds: int | None, actions: str | None, outputs: tuple[Output, ...]
) -> int:
    """Run the scheduler on the clusters in FILE, and print all pods after each round.

    The decisions are those of KAI Scheduler. FILE contains a case in the format of tests/conformance/kai, a dump of
    several, or one case per line; - is standard input. The output is one line of JSON per case.
    """
    import json

    from apportion_cli.delivery import deliver
    from apportion_runtime.cases.case_outcome import rounds_document

    wanted = _actions(actions)
    cases = _read(file)
    if number is not None:
        if number >= len(cases):
            raise click.UsageError(
                f"{file} has no case {number}; it contains {counted(len(cases), 'case')}, numbered from 0"
            )
        cases = [cases[number]]
    lines = [json.dumps(rounds_document(case, rounds=rounds, actions=wanted)) for case in cases]
    for output in outputs or (Output("json"),):
        deliver(current(), output, "\n".join(lines) + "\n")
    return ExitCode.OK


def _actions(asked: str | None) -> tuple[str, ...] | None:
    from apportion_runtime.cases.case_checks import ACTIONS

    if asked is None:
        return None
    if asked.strip() == _ALL:
        return ACTIONS
    names = tuple(name.strip() for name in asked.split(",") if name.strip())
    for name in names:
        if name not in ACTIONS:
            raise click.BadParameter(f"`{name}` is not one of {_ALL}, {', '.join(ACTIONS)}", param_hint="--actions")
    if not names:
        raise click.BadParameter("no actions given", param_hint="--actions")
    return names


def _read(file: str) -> list[dict[str, Any]]:
    from apportion_runtime.cases.files import Malformed, read_cases

    try:
        text = sys.stdin.read(_MAX_CHARACTERS + 1) if file == "-" else text_of(file, _MAX_CHARACTERS)
    except UnicodeDecodeError:
        raise PreconditionError(f"{file} is not UTF-8 text") from None
    except (OSError, ValueError) as refused:
        reason = refused.strerror if isinstance(refused, OSError) else refused
        raise PreconditionError(f"{file} cannot be read: {reason}") from None
    if len(text) > _MAX_CHARACTERS:
        raise PreconditionError(f"{file} exceeds the limit of {_MAX_CHARACTERS} characters")
    try:
        return read_cases(text)
    except Malformed as wrong:
        place = file if wrong.line is None else f"{file}:{wrong.line}"
        raise PreconditionError(f"{place}: {wrong.message}") from None
