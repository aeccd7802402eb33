"""The options of every command and of the group: `-q`, `-v`, `--no-color`, `--debug`, `--settings-from`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import click

from apportion_cli.console import current, set_current
from apportion_cli.settings import settings_of

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def console_options(command: Decorated) -> Decorated:
    """Add the options; `console.current()` has their values."""
    for option in (_SETTINGS_FROM, _DEBUG, _COLOR, _VERBOSE, _QUIET):
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


def _settings_from(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Set the defaults of a command before its other options are parsed."""
    ref = value or ctx.meta.get(SETTINGS_REF)
    ctx.meta[SETTINGS_REF] = ref
    verb = ctx.info_name or ""
    if ctx.parent is None:
        return
    settings, in_tree = settings_of(ref)
    ctx.default_map = settings.defaults(verb)
    color = ctx.default_map.pop("color", None)
    if color is not None:
        set_current(ctx, replace(current(ctx), color=color))
    if verb == "doctor":
        return
    chosen = {setting.key: setting.value for setting in settings.affecting(verb)}
    for setting in in_tree.affecting(verb):
        if setting.key not in chosen:
            current(ctx).err(
                f"apportion: warning: {setting.source}: `{setting.key}` is not applied, because the tree being checked "
                f"must not control it: pass --{setting.key}, or --settings-from REVISION"
                if setting.key != "policy"
                else f"apportion: warning: {setting.source}: `policy` is not applied, because the tree being checked must not control it: pass "
                "the policy on the command line, or pass --settings-from REVISION"
            )
        elif chosen[setting.key] != setting.value:
            current(ctx).err(
                f"apportion: note: {setting.source}: `{setting.key}` differs from the value in {ref}, which takes precedence"
            )


SETTINGS_REF = "apportion.settings-from"
_SETTINGS_FROM = click.option(
    "--settings-from",
    metavar="REVISION",
    default=None,
    is_eager=True,
    expose_value=False,
    callback=_settings_from,
    help="Read the settings file from this git revision, such as origin/main.",
)
_QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_quiet,
    help="Print only findings and results, without progress messages or summaries.",
)
_VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_verbose,
    help="List the files that were read, and show the policy's own output.",
)
_COLOR = click.option(
    "--color/--no-color",
    default=None,
    expose_value=False,
    callback=_color,
    help="Enable or disable colour (default: auto; NO_COLOR and FORCE_COLOR apply).",
)
_DEBUG = click.option(
    "--debug",
    is_flag=True,
    envvar="APPORTION_DEBUG",
    expose_value=False,
    callback=_debug,
    help="Show the traceback of an internal error.",
)
