"""The layers around a policy, in the order in which the child raises them, and which of them it must have.

A layer is missing only where the system does not have it. Any other failure to raise one ends the evaluation: what
could not be raised for an unknown reason is not known to be absent.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# Not built into the kernel, switched off at boot, or unknown to this operating system.
_NOT_THERE = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


@dataclass(frozen=True, slots=True)
class Layer:
    """One means of confinement, and what it stops by itself.

    Attributes:
        name: As documents name it.
        stops: Completes "nothing stops a policy from …".
        absent_with: Errors of the kernel that mean that the system does not have it.
    """

    name: str
    stops: str
    absent_with: tuple[int, ...] = _NOT_THERE


SCRUBBED_ENVIRONMENT = Layer("scrubbed-environment", "reading secrets from environment variables")
RESOURCE_LIMITS = Layer("resource-limits", "using unlimited CPU time, files and processes")
MEMORY_LIMIT = Layer("memory-limit", "using unlimited memory")
# EINVAL: Linux before 3.5.
NO_NEW_PRIVILEGES = Layer(
    "no-new-privileges", "gaining privileges through a set-uid program", (*_NOT_THERE, errno.EINVAL)
)
FILES = Layer("landlock", "reading outside the folders of the policy and of Python, and writing anywhere")
# Refused by the administrator (EPERM, EACCES), used up (ENOSPC, EUSERS), or not built in (EINVAL).
NETWORK_NAMESPACE = Layer(
    "network-namespace",
    "accessing the network",
    (*_NOT_THERE, errno.EPERM, errno.EACCES, errno.ENOSPC, getattr(errno, "EUSERS", errno.ENOSPC), errno.EINVAL),
)
CAPABILITIES = Layer("no-capabilities", "using root capabilities")
# EINVAL: a kernel without CONFIG_SECCOMP_FILTER.
SYSTEM_CALLS = Layer(
    "seccomp",
    "opening sockets, starting programs, processes or threads, and writing files",
    (*_NOT_THERE, errno.EINVAL),
)
AUDIT_HOOK = Layer("audit-hook", "performing forbidden operations by accident")

LAYERS: tuple[Layer, ...] = (
    SCRUBBED_ENVIRONMENT,
    RESOURCE_LIMITS,
    MEMORY_LIMIT,
    NO_NEW_PRIVILEGES,
    NETWORK_NAMESPACE,
    FILES,
    CAPABILITIES,
    SYSTEM_CALLS,
    AUDIT_HOOK,
)

# With these a policy can neither read what it should not nor tell anybody. The others are a second line.
NEEDED_FOR_UNTRUSTED: tuple[Layer, ...] = (SCRUBBED_ENVIRONMENT, RESOURCE_LIMITS, MEMORY_LIMIT, FILES, SYSTEM_CALLS)


@dataclass(slots=True)
class RaisedLayers:
    """Result of activating the layers; updated during activation.

    Attributes:
        active: Names of the layers in force.
        absent: For each that the system does not have, its name and the system's words.
        failed: The layer that could not be raised for another reason, and that reason.
    """

    active: list[str] = field(default_factory=list[str])
    absent: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    failed: tuple[str, str] | None = None


class LayerFailedError(Exception):
    """A layer that the system has could not be raised; `Raised.failed` says which."""


def missing_layers(active: Sequence[str]) -> tuple[Layer, ...]:
    """Return the layers that code nobody has reviewed needs and that are not among the active ones."""
    return tuple(layer for layer in NEEDED_FOR_UNTRUSTED if layer.name not in active)


def raise_layer(layer: Layer, act: Callable[[], object], raised: RaisedLayers) -> None:
    """Do what raises a layer, and note whether it is in force or absent.

    Raises:
        LayerFailedError: If it could not be raised for another reason than that the system does not have it.
    """
    try:
        act()
    except (OSError, ValueError) as refused:
        code = refused.errno if isinstance(refused, OSError) else None
        reason = str(refused) if code is None else os.strerror(code)
        if code not in layer.absent_with:
            raised.failed = (layer.name, reason)
            raise LayerFailedError(f"{layer.name}: {reason}") from refused
        raised.absent.append((layer.name, reason))
    else:
        raised.active.append(layer.name)
