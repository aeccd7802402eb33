"""Irrevocably confine this process, layer by layer. The first line of the response reports the result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from apportion_policy.evaluation.audit import AuditTrail, install_audit_hook
from apportion_policy.evaluation.confinement_layers import (
    AUDIT_HOOK,
    LAYERS,
    MEMORY_LIMIT,
    RESOURCE_LIMITS,
    SCRUBBED_ENVIRONMENT,
    LayerFailedError,
    RaisedLayers,
    raise_layer,
)
from apportion_policy.evaluation.limits import Limits
from apportion_policy.evaluation.read_access import ReadablePaths
from apportion_policy.evaluation.rlimits import limit_memory, limit_resources

KernelLayers = Callable[[ReadablePaths, RaisedLayers], None]


def find_kernel_layers(parent: int) -> KernelLayers | None:
    """Return the function that activates the layers of this kernel, with modules imported; `None` if there are none.

    Args:
        parent: Process id of the caller, with which the kernel ends this process, if supported.
    """
    if sys.platform != "linux":
        return None
    try:
        from apportion_policy.evaluation.linux_layers import raise_linux_layers
    except ImportError:
        return None  # An interpreter built without ctypes.
    return lambda readable, raised: raise_linux_layers(readable, raised, parent=parent)


def confine(
    readable: ReadablePaths, limits: Limits, *, root: str, kernel_layers: KernelLayers | None
) -> tuple[RaisedLayers, AuditTrail]:
    """Activate every layer that this system supports, up to the first that fails.

    Args:
        readable: Paths that remain readable.
        limits: Resource limits.
        root: The policy's own tree.
        kernel_layers: From `find_kernel_layers`.

    Returns:
        The result, and the audit trail of the policy from here on.
    """
    raised = RaisedLayers()
    try:
        raise_layer(RESOURCE_LIMITS, lambda: limit_resources(limits), raised)
        raise_layer(MEMORY_LIMIT, lambda: limit_memory(limits), raised)
        if kernel_layers is not None:
            kernel_layers(readable, raised)
    except LayerFailedError:
        return raised, AuditTrail()
    trail = install_audit_hook(readable, root)
    raised.active.append(AUDIT_HOOK.name)
    if kernel_layers is None:
        known = {SCRUBBED_ENVIRONMENT.name, *raised.active, *(name for name, _ in raised.absent)}
        raised.absent += ((layer.name, _no_kernel_layers()) for layer in LAYERS if layer.name not in known)
    return raised, trail


def is_enough(raised: RaisedLayers, required: Sequence[str]) -> bool:
    """Return whether a policy may run: nothing failed, and every required layer is active."""
    return raised.failed is None and all(name in raised.active for name in required)


def _no_kernel_layers() -> str:
    return "this Python lacks the ctypes module" if sys.platform == "linux" else f"{sys.platform} has none"
