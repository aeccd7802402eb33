"""Permissions that the caller of a command grants to a policy; the policy's own files cannot set them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apportion_policy.errors import AgreementError

RESERVED_NAMESPACES = "APPORTION_RESERVED_NAMESPACES"
"""Environment variable with namespaces that no queue may claim."""
WEAKER_ENFORCEMENT = "APPORTION_WEAKER_ENFORCEMENT"
"""Environment variable with the environments and clusters that may enforce less than the policy."""
NAMESPACE_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}\*?$"
_SCOPE_PATTERN = r"[a-z0-9][a-z0-9-]{0,62}(/[a-z0-9][a-z0-9-]{0,62})?"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Permissions granted by the caller.

    Attributes:
        reserved_namespaces: Names that no queue may claim, besides those of the policy and the built-in ones.
        weaker_enforcement: Environments (`dev`) and clusters (`prod/gpu-eu`) that may enforce less. None if the caller
            does not specify it, which differs from an empty list.
    """

    reserved_namespaces: tuple[str, ...] = ()
    weaker_enforcement: tuple[str, ...] | None = None

    def allows_weaker(self, scope: str) -> bool:
        """Return whether an environment, or a cluster such as `prod/gpu-eu`, may enforce less."""
        agreed = self.weaker_enforcement or ()
        return scope in agreed or scope.partition("/")[0] in agreed


def names_in(text: str) -> tuple[str, ...]:
    """Split a list at commas and white space."""
    return tuple(name for name in re.split(r"[,\s]+", text) if name)


def agreement(reserved_namespaces: tuple[str, ...], weaker_enforcement: tuple[str, ...] | None) -> Agreement:
    """Return an agreement with validated names. Raises `AgreementError` if one is invalid."""
    for name in reserved_namespaces:
        if not re.fullmatch(NAMESPACE_PATTERN, name):
            raise AgreementError(
                f'the reserved namespaces ({RESERVED_NAMESPACES}) must be comma-separated names, such as "monitoring, vault-*"; '
                f'"{name[:80]}" is not a name'
            )
    for scope in weaker_enforcement or ():
        if not re.fullmatch(_SCOPE_PATTERN, scope):
            raise AgreementError(
                f'the scopes of weaker enforcement ({WEAKER_ENFORCEMENT}) must be environments or clusters, such as "dev, prod/gpu-eu"; '
                f'"{scope[:80]}" is neither an environment nor a cluster'
            )
    return Agreement(reserved_namespaces, weaker_enforcement)


def agreement_of(environment: Mapping[str, str]) -> Agreement:
    """Return the permissions in environment variables. Raises `AgreementError`."""
    weaker = environment.get(WEAKER_ENFORCEMENT)
    return agreement(
        names_in(environment.get(RESERVED_NAMESPACES, "")), names_in(weaker) if weaker is not None else None
    )
