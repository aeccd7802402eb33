"""Options that grant permissions to a policy, which its files cannot set: see `apportion_policy.agreement`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from apportion_cli.verbosity import SETTINGS_REF

if TYPE_CHECKING:
    from apportion_policy.agreement import Agreement

Decorated = TypeVar("Decorated", bound=Callable[..., object])
_RESERVED = "apportion.reserved-namespaces"
_WEAKER = "apportion.weaker-enforcement"


def agreement_options(command: Decorated) -> Decorated:
    """Add `--reserved-namespaces` and `--weaker-enforcement`, which `agreed` reads."""
    for option in (_WEAKER_OPTION, _RESERVED_OPTION):
        command = option(command)
    return command


def agreed() -> Agreement:
    """Return the permissions of the running command, from flags, variables or a base revision's settings.

    Raises:
        AgreementError: If a name is invalid.
    """
    from apportion_policy.agreement import agreement, agreement_of, names_in

    context = click.get_current_context(silent=True)
    if context is None or _RESERVED not in context.meta:
        return agreement_of(os.environ)
    reserved: tuple[str, ...] = context.meta[_RESERVED]
    weaker: tuple[str, ...] = context.meta[_WEAKER]
    # A base revision without the setting grants nothing; without a base revision, the permissions are unspecified.
    says = bool(weaker) or context.meta.get(SETTINGS_REF) is not None
    return agreement(names_in(" ".join(reserved)), names_in(" ".join(weaker)) if says else None)


def _kept(key: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], None]:
    def callback(context: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
        context.meta[key] = tuple(str(name) for name in value)

    return callback


_RESERVED_OPTION = click.option(
    "--reserved-namespaces",
    multiple=True,
    expose_value=False,
    callback=_kept(_RESERVED),
    envvar="APPORTION_RESERVED_NAMESPACES",
    metavar="NAMES",
    help="Additional namespaces that queues must not use, such as monitoring,vault-*.",
)
_WEAKER_OPTION = click.option(
    "--weaker-enforcement",
    multiple=True,
    expose_value=False,
    callback=_kept(_WEAKER),
    envvar="APPORTION_WEAKER_ENFORCEMENT",
    metavar="SCOPES",
    help="Environments or clusters allowed to enforce less than the policy requires, such as dev,prod/gpu-eu.",
)
