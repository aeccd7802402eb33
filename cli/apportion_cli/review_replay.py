"""`apportion review --replay`: the command line of a report, and the digests of its inputs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import click

from apportion_cli.bounded_text import UnreadableFileError, text_of
from apportion_cli.errors import PreconditionError

_RECORDED = "apportion.replayed-digests"
_JSON = "`-o json=FILE`"
_PROGRAM = ["apportion", "review"]
_NOT_RECORDED = frozenset(("check_shares", "outputs", "replay"))
_CHECKED = "apportion.checked-report"


def time_text(at: float) -> str:
    """Return a time in the format of `--now`, with microseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def command_line(command: click.Command, values: Mapping[str, object]) -> str:
    """Return the command line for the given parameter values of a command.

    Outputs are omitted, because they are chosen when a report is replayed.
    """
    words = list(_PROGRAM)
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if value is None or value is False or parameter.name in _NOT_RECORDED or not parameter.expose_value:
            continue
        each = list(value) if isinstance(value, tuple) else [value]
        if isinstance(parameter, click.Argument):
            words += map(str, each)
            continue
        if value == parameter.get_default(click.get_current_context()):
            continue
        option = max(parameter.opts, key=len)
        words += [option] if value is True else [word for one in each for word in (option, _text(option, one))]
    return shlex.join(words)


def _text(option: str, value: object) -> str:
    if option == "--max-lost-gpu-hours" and isinstance(value, int):
        hours = value // 3600
        return f"{hours // 1000}.{hours % 1000:03}"
    return str(value)


def replay_arguments(file: str) -> tuple[Sequence[str], Mapping[str, object]]:
    """Return the arguments of the review that produced a JSON report, and the report.

    Raises:
        PreconditionError: If the file is not a report.
    """
    try:
        document = json.loads(text_of(file))
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from None
    except UnreadableFileError as wrong:
        raise PreconditionError(f"{file} cannot be read: {wrong}") from None
    except ValueError:
        raise PreconditionError(f"{file} is not a JSON report of `apportion review`; create one with {_JSON}") from None
    command = document.get("command") if isinstance(document, dict) else None
    digests = document.get("digests") if isinstance(document, dict) else None
    words = _words(command)
    if words[:2] != _PROGRAM or not isinstance(digests, dict):
        raise PreconditionError(f"{file} is not a JSON report of `apportion review`; create one with {_JSON}")
    click.get_current_context().meta[_RECORDED] = digests
    return words[2:], document


def _words(command: object) -> list[str]:
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


def set_checked_report(document: Mapping[str, object]) -> None:
    """Let the following review check the shares of a report, instead of writing one."""
    click.get_current_context().meta[_CHECKED] = document


def checked_report() -> Mapping[str, object] | None:
    """Return the report whose shares are checked; None if a report is written."""
    found: Mapping[str, object] | None = click.get_current_context().meta.get(_CHECKED)
    return found


def check_replayed(digests: Mapping[str, str], *, loads_too: bool = True) -> None:
    """Reject inputs that differ from those of the replayed report.

    Args:
        digests: Digests of the inputs, by name.
        loads_too: Whether to include the simulated loads.

    Raises:
        PreconditionError: If any digest differs.
    """
    recorded: Mapping[str, str] | None = click.get_current_context().meta.get(_RECORDED)
    if recorded is None:
        return
    if not loads_too:
        recorded = {name: digest for name, digest in recorded.items() if name in digests}
    changed = [name for name in dict.fromkeys((*recorded, *digests)) if recorded.get(name) != digests.get(name)]
    if changed:
        raise PreconditionError(
            f"the report cannot be reproduced: {', '.join(changed)} changed since",
            hint="check out the same revisions and use the same snapshots",
        )
