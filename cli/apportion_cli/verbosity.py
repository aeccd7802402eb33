"""The options that every verb and the command itself take: `-q`, `-v`, `--no-color`, `--debug`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import click

from apportion_cli.console import current, set_current

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def console_options(command: Decorated) -> Decorated:
    """Add the options; `console.current()` is what they say."""
    for option in (_DEBUG, _COLOR, _VERBOSE, _QUIET):
        command = option(command)
    return command


def _quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature.
    if value:
        set_current(ctx, replace(current(ctx), verbosity=-1))


def _verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature.
    if value:
        set_current(ctx, replace(current(ctx), verbosity=1))


def _color(ctx: click.Context, _: click.Parameter, value: bool | None) -> None:  # noqa: FBT001 - click's signature.
    if value is not None:
        set_current(ctx, replace(current(ctx), color=value))


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature.
    if value:
        set_current(ctx, replace(current(ctx), debug=True))


_QUIET = click.option(
    "-q", "--quiet", is_flag=True, expose_value=False, callback=_quiet, help="Print only what was asked for."
)
_VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_verbose,
    help="Say which files were read, and what a policy printed.",
)
_COLOR = click.option(
    "--color/--no-color",
    default=None,
    expose_value=False,
    callback=_color,
    help="Colour the text; NO_COLOR and FORCE_COLOR are honoured.",
)
_DEBUG = click.option(
    "--debug",
    is_flag=True,
    envvar="APPORTION_DEBUG",
    expose_value=False,
    callback=_debug,
    help="Show the traceback of a fault of apportion.",
)
