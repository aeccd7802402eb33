"""`apportion review --replay`: the command line of a report, and the digests of its inputs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from apportion_cli.bounded_text import UnreadableFileError, text_of
from apportion_cli.errors import PreconditionError

if TYPE_CHECKING:
    from apportion_review.review import Review

_RECORDED = "apportion.replayed-digests"
_JSON = "`-o json=FILE`"
_PROGRAM = ["apportion", "review"]
_VERSION = "apportion"
_NOT_RECORDED = frozenset(("check_shares", "outputs", "replay"))
_CHECKED = "apportion.checked-report"
_REPLAYED = "apportion.replayed-report"


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
        raise PreconditionError(
            f"{file} is not a JSON report from `apportion review`; create one with {_JSON}"
        ) from None
    command = document.get("command") if isinstance(document, dict) else None
    digests = document.get("digests") if isinstance(document, dict) else None
    words = _words(command)
    if words[:2] != _PROGRAM or not isinstance(digests, dict):
        raise PreconditionError(f"{file} is not a JSON report from `apportion review`; create one with {_JSON}")
    click.get_current_context().meta[_RECORDED] = digests
    return words[2:], document


def reject_outputs(file: str, context: click.Context) -> None:
    """Reject a recorded command with options that no report records: it could write any file.

    Args:
        file: The report.
        context: The parsed command.

    Raises:
        PreconditionError: If the command has such an option.
    """
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _NOT_RECORDED and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = max(parameter.opts, key=len)
            raise PreconditionError(
                f"{file} is not an `apportion review` report: its recorded command has the option {option}"
            )


def set_replayed_report(file: str, document: Mapping[str, object]) -> None:
    """Let the following review compare its report with a recorded one."""
    click.get_current_context().meta[_REPLAYED] = file, document


def check_report(review: Review) -> None:
    """Reject a replayed report that differs from the review of its inputs. Raises `PreconditionError`."""
    from apportion_review.report.document import review_json

    recorded: tuple[str, Mapping[str, object]] | None = click.get_current_context().meta.get(_REPLAYED)
    if recorded is None:
        return
    file, document = recorded
    reproduced = json.loads(review_json(review))
    versions = document.get(_VERSION), reproduced.get(_VERSION)
    where = _first_difference({**document, _VERSION: ""}, {**reproduced, _VERSION: ""})
    if where is None:
        return
    if versions[0] != versions[1]:
        raise PreconditionError(
            f"{file} was written by apportion {versions[0]}; apportion {versions[1]} reports a different `{where}`",
            hint=f"replay it with apportion {versions[0]}",
        )
    raise PreconditionError(
        f"{file} was altered: `{where}` differs from a new report for the same inputs",
        hint="regenerate the report with its recorded command",
    )


def _first_difference(one: object, other: object, at: str = "") -> str | None:
    """Return the path of the first difference between two JSON values; None if they are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(f"{at}.{key}" if at else str(key), one.get(key), other.get(key)) for key in {**one, **other}]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(f"{at}[{number}]", *pair) for number, pair in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other and type(one) is type(other) else at
    differences = (_first_difference(before, after, path) for path, before, after in pairs)
    return next((found for found in differences if found is not None), None)


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
            f"the report cannot be reproduced: {', '.join(changed)} changed after it was written",
            hint="check out the same revisions and use the same snapshots",
        )
