"""The confinement layers of a policy, in the order of activation, and the required ones.

A layer is missing only if the system does not support it. Any other failure to activate a layer ends the evaluation,
because the system may support it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# Not built into the kernel, disabled at boot, or unknown to this operating system.
_NOT_THERE = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


@dataclass(frozen=True, slots=True)
class Layer:
    """A confinement layer, and what it prevents on its own.

    Attributes:
        name: Its name in the documentation.
        stops: Completes "nothing stops a policy from …".
        absent_with: Errors of the kernel that mean that the system does not support it.
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
FILES = Layer("landlock", "reading files outside the policy's and Python's directories, or writing to any file")
# Denied by the administrator (EPERM, EACCES), exhausted (ENOSPC, EUSERS), or not built in (EINVAL).
NETWORK_NAMESPACE = Layer(
    "network-namespace",
    "accessing the network",
    (*_NOT_THERE, errno.EPERM, errno.EACCES, errno.ENOSPC, getattr(errno, "EUSERS", errno.ENOSPC), errno.EINVAL),
)
CAPABILITIES = Layer("no-capabilities", "using root capabilities")
# EINVAL: a kernel without CONFIG_SECCOMP_FILTER.
SYSTEM_CALLS = Layer(
    "seccomp",
    "opening sockets, starting programs, processes or threads, or writing to files",
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

# Without these, a policy could read private files or exfiltrate them. The others are defence in depth.
NEEDED_FOR_UNTRUSTED: tuple[Layer, ...] = (SCRUBBED_ENVIRONMENT, RESOURCE_LIMITS, MEMORY_LIMIT, FILES, SYSTEM_CALLS)


@dataclass(slots=True)
class RaisedLayers:
    """Result of activating the layers; updated during activation.

    Attributes:
        active: Names of the layers in force.
        absent: Name and error message of each layer that the system does not support.
        failed: The layer that could not be activated for another reason, and the reason.
    """

    active: list[str] = field(default_factory=list[str])
    absent: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    failed: tuple[str, str] | None = None


class LayerFailedError(Exception):
    """A supported layer could not be activated; `Raised.failed` names it."""


def missing_layers(active: Sequence[str]) -> tuple[Layer, ...]:
    """Return the layers that unreviewed code requires and that are not active."""
    return tuple(layer for layer in NEEDED_FOR_UNTRUSTED if layer.name not in active)


def raise_layer(layer: Layer, act: Callable[[], object], raised: RaisedLayers) -> None:
    """Activate a layer, and record whether it is active or absent.

    Raises:
        LayerFailedError: If it could not be activated although the system supports it.
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
