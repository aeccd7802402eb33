"""The names of the layers around a policy, in the order in which the child raises them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layer:
    """One means of confinement, and what it stops by itself."""

    name: str
    stops: str


SCRUBBED_ENVIRONMENT = Layer("scrubbed-environment", "reading secrets from environment variables")
RESOURCE_LIMITS = Layer("resource-limits", "using processor time, files and processes without end")
MEMORY_LIMIT = Layer("memory-limit", "using memory without end")
NO_NEW_PRIVILEGES = Layer("no-new-privileges", "gaining rights through a set-uid program")
FILES = Layer("landlock", "reading outside the policy's folder and Python's own, and writing anywhere")
NETWORK_NAMESPACE = Layer("network-namespace", "reaching a network")
CAPABILITIES = Layer("no-capabilities", "using the rights of root")
SYSTEM_CALLS = Layer("seccomp", "opening sockets, starting programs, processes or threads, and writing files")
AUDIT_HOOK = Layer("audit-hook", "nothing by itself against intent; names the author's line")

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


def missing_layers(active: tuple[str, ...]) -> tuple[Layer, ...]:
    """Return the layers that code nobody has reviewed needs and that are not among the active ones."""
    return tuple(layer for layer in NEEDED_FOR_UNTRUSTED if layer.name not in active)


def raise_layer(layer: Layer, act: Callable[[], object], active: list[str]) -> None:
    """Do what raises a layer, and add its name to the active ones unless the system lacks it."""
    try:
        act()
    except (OSError, ValueError):
        return
    active.append(layer.name)
