"""Confine this process, layer by layer, for good. Each layer is raised if the system has it; the answer says which."""

from __future__ import annotations

import sys
from collections.abc import Callable

from apportion_policy.evaluation.audit import AuditTrail, install_audit_hook
from apportion_policy.evaluation.layers import AUDIT_HOOK, MEMORY_LIMIT, RESOURCE_LIMITS, raise_layer
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.readable import Readable
from apportion_policy.evaluation.rlimits import limit_memory, limit_resources

KernelLayers = Callable[[Readable, list[str]], None]


def find_kernel_layers(parent: int) -> KernelLayers | None:
    """Return what raises the layers of this kernel, its modules imported; `None` where there are none.

    Args:
        parent: Process id of the caller; where the kernel can, it ends this process with it.
    """
    if sys.platform != "linux":
        return None
    try:
        from apportion_policy.evaluation.linux_layers import raise_linux_layers
    except ImportError:
        return None  # An interpreter built without ctypes.
    return lambda readable, active: raise_linux_layers(readable, active, parent=parent)


def confine(
    readable: Readable, limits: Limits, *, root: str, kernel_layers: KernelLayers | None
) -> tuple[tuple[str, ...], AuditTrail]:
    """Raise every layer that this system has.

    Args:
        readable: What may still be read.
        limits: What may be used.
        root: The policy's own tree.
        kernel_layers: From `find_kernel_layers`.

    Returns:
        Names of the layers in force, and the trail of what the policy does from here on.
    """
    active: list[str] = []
    raise_layer(RESOURCE_LIMITS, lambda: limit_resources(limits), active)
    raise_layer(MEMORY_LIMIT, lambda: limit_memory(limits), active)
    if kernel_layers is not None:
        kernel_layers(readable, active)
    trail = install_audit_hook(readable, root)
    active.append(AUDIT_HOOK.name)
    return tuple(active), trail
