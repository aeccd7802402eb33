"""Options shared by several commands. Only this module reads the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, TypeVar

import click

from apportion_cli.agreement_options import agreement_options
from apportion_cli.settings import variable
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from apportion_policy.evaluation.limits import Limits

Decorated = TypeVar("Decorated", bound=Callable[..., object])
Value = TypeVar("Value")
_JSON = "apportion.json"
ALLOW_MISSING_LAYERS = "apportion.allow-missing-layers"
"""Key in click's context for `--allow-missing-layers`."""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"": 1024**2, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "k": 1000, "M": 1000**2, "G": 1000**3}
_LEAST_TIME_S, _MOST_TIME_S = 0.1, 86_400
_LEAST_MEMORY, _MOST_MEMORY = 256 * 1024**2, 64 * 1024**3


def parse_day(text: str) -> date:
    """Return the date of `2026-11-21`. Raises `ValueError`."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"`{text}` is not a date such as 2026-11-21") from None


def parse_seconds(text: str) -> float:
    """Return the seconds of `30`, `30s` or `2m`. Raises `ValueError`."""
    number = text.rstrip("smh")
    try:
        seconds = float(number) * _UNITS[text[len(number) :]]
    except (ValueError, KeyError):
        raise ValueError(f"`{text}` is not a duration such as 30s or 2m") from None
    if not _LEAST_TIME_S <= seconds <= _MOST_TIME_S:
        raise ValueError(f"a time limit must be between 0.1s and 24h, not `{text}`")
    return seconds


def parse_bytes(text: str) -> int:
    """Return the bytes of `512Mi` or `2Gi`; a bare number counts MiB. Raises `ValueError`."""
    number = text.rstrip("KMGik")
    try:
        size = int(float(number) * _BYTES[text[len(number) :]])
    except (ValueError, KeyError, OverflowError):
        raise ValueError(f"`{text}` is not an amount of memory such as 512Mi or 2Gi") from None
    if size < _LEAST_MEMORY:
        raise ValueError("the interpreter and the policy model alone require 256Mi")
    if size > _MOST_MEMORY:
        raise ValueError(f"a memory limit must be at most 64Gi, not `{text}`")
    return size


@dataclass(frozen=True, slots=True)
class Output:
    """A format and its file; None is standard output."""

    format: str
    file: str | None = None


def parse_output(text: str, formats: Sequence[str]) -> Output:
    """Return the output of `FORMAT` or `FORMAT=FILE`; the file `-` is standard output. Raises `ValueError`."""
    format_, equals, file = text.partition("=")
    if format_ not in formats:
        raise ValueError(f"`{format_}` is not one of {', '.join(formats)}")
    if equals and not file:
        raise ValueError("expected a file name after `=`")
    return Output(format_, file if equals and file != "-" else None)


def policy_argument(command: Decorated) -> Decorated:
    """Add POLICY: a file, `file.py:name`, or a directory."""
    return click.argument("policy", default=".", envvar=variable("policy"), type=click.Path(), metavar="[POLICY]")(
        command
    )


def environment_option(command: Decorated) -> Decorated:
    """Add `--env`, which may be repeated."""
    return click.option(
        "-e",
        "--env",
        multiple=True,
        envvar=variable("env"),
        metavar="NAME",
        help="Limit to this environment; may be repeated.",
    )(command)


def as_of_option(command: Decorated) -> Decorated:
    """Add `--as-of`."""
    return click.option(
        "--as-of",
        default=today,
        callback=_parsed(parse_day),
        envvar=variable("as-of"),
        metavar="DATE",
        help="Evaluate overrides and waivers as of this date (default: today, UTC).",
    )(command)


def output_option(*formats: str, variable: str | None = None) -> Callable[[Decorated], Decorated]:
    """Add `-o`, which may be repeated; `variable` names its environment variable."""
    return click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        callback=_parsed_outputs(formats),
        shell_complete=lambda _, __, incomplete: [f for f in formats if f.startswith(incomplete)],
        envvar=variable,
        metavar="FORMAT[=FILE]",
        help=f"Output format: {', '.join(formats)}; may be repeated.",
    )


def json_option(command: Decorated) -> Decorated:
    """Add `--json`, short for `-o json`, to a command that has `-o`."""
    return click.option(
        "--json", is_flag=True, is_eager=True, expose_value=False, callback=_request_json, help="Shorthand for -o json."
    )(command)


def _request_json(context: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click gives it so.
    if value:
        context.meta[_JSON] = True


def fail_on_option(command: Decorated) -> Decorated:
    """Add `--fail-on`."""
    return click.option(
        "--fail-on",
        type=click.Choice(["error", "warning", "never"]),
        default="error",
        envvar=variable("fail-on"),
        show_default=True,
        help="Exit with 1 if there is a finding of at least this severity.",
    )(command)


def limit_options(command: Decorated) -> Decorated:
    """Add the limits of an evaluation (see `limits`) and the caller's agreement (see `agreed`)."""
    for option in (allow_missing_layers_option, agreement_options, _MEMORY_LIMIT, _TIME_LIMIT):
        command = option(command)
    return command


def allow_missing_layers_option(command: Decorated) -> Decorated:
    """Add `--allow-missing-layers`, which `limits` reads. It can be set only on the command line."""
    return click.option(
        "--allow-missing-layers",
        is_flag=True,
        expose_value=False,
        callback=_allow_missing_layers,
        help="Evaluate the policy even if the system lacks a sandbox layer; for reviewed policies only.",
    )(command)


def _allow_missing_layers(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click gives it so.
    # A default of click can come from a settings file, which is part of the checked tree.
    source = context.get_parameter_source(parameter.name or "")
    if value and source is click.core.ParameterSource.COMMANDLINE:
        context.meta[ALLOW_MISSING_LAYERS] = True


def limits(time_limit: float | None, memory_limit: int | None) -> Limits:
    """Return the limits of an evaluation for the running command; None is the default."""
    from dataclasses import replace

    from apportion_policy.evaluation.limits import Limits

    context = click.get_current_context(silent=True)
    allowed = context is not None and bool(context.meta.get(ALLOW_MISSING_LAYERS))
    chosen = Limits(allow_missing_layers=allowed)
    if time_limit is not None:
        # Processor time is counted in whole seconds, and must not end a run within its time limit.
        chosen = replace(chosen, wall_s=time_limit, cpu_s=int(time_limit) + 2)
    if memory_limit is not None:
        chosen = replace(chosen, memory_bytes=memory_limit)
    return chosen


def reading_options(command: Decorated) -> Decorated:
    """Add the options of commands that read a policy: POLICY, `--as-of`, the limits and the console's options."""
    for decorate in (console_options, limit_options, as_of_option, policy_argument):
        command = decorate(command)
    return command


def today() -> str:
    """Return the date in the format of `--as-of`."""
    return datetime.now(UTC).date().isoformat()


def _parsed(parse: Callable[[str], Value]) -> Callable[[click.Context, click.Parameter, object], Value | None]:
    def callback(_: click.Context, __: click.Parameter, value: object) -> Value | None:
        try:
            return None if value is None else parse(str(value).strip())
        except ValueError as refused:
            raise click.BadParameter(str(refused)) from None

    return callback


def _parsed_outputs(
    formats: Sequence[str],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], tuple[Output, ...]]:
    def callback(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> tuple[Output, ...]:
        requested = ("json",) if context.meta.get(_JSON) and "json" not in values else ()
        try:
            return tuple(parse_output(str(value), formats) for value in (*values, *requested))
        except ValueError as refused:
            raise click.BadParameter(str(refused)) from None

    return callback


optional_day = _parsed(parse_day)
"""Callback of a date option without a default."""
_TIME_LIMIT = click.option(
    "--time-limit",
    default=None,
    callback=_parsed(parse_seconds),
    envvar=variable("time-limit"),
    metavar="TIME",
    help="Time limit for evaluating the policy (default: 30s).",
)
_MEMORY_LIMIT = click.option(
    "--memory-limit",
    default=None,
    callback=_parsed(parse_bytes),
    envvar=variable("memory-limit"),
    metavar="SIZE",
    help="Memory limit for evaluating the policy (default: 2Gi).",
)
