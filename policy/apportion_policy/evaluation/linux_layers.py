"""The layers that are available on Linux without root. The import fails if Python has no ctypes.

The order is mandatory: Landlock and seccomp require no_new_privs, a network namespace requires capabilities that are
dropped after it, and seccomp denies all of these calls.
"""

from __future__ import annotations

import contextlib

from apportion_policy.evaluation.confinement_layers import (
    CAPABILITIES,
    FILES,
    NETWORK_NAMESPACE,
    NO_NEW_PRIVILEGES,
    SYSTEM_CALLS,
    RaisedLayers,
    raise_layer,
)
from apportion_policy.evaluation.kernel import KernelError
from apportion_policy.evaluation.landlock import restrict_files
from apportion_policy.evaluation.privileges import (
    die_with_parent,
    drop_capabilities,
    leave_network,
    refuse_new_privileges,
)
from apportion_policy.evaluation.read_access import ReadablePaths
from apportion_policy.evaluation.seccomp import restrict_system_calls


def raise_linux_layers(readable: ReadablePaths, raised: RaisedLayers, *, parent: int) -> None:
    """Confine this process irrevocably, and record the active and absent layers.

    Raises:
        LayerFailedError: If a supported layer could not be activated.
    """
    with contextlib.suppress(KernelError):
        die_with_parent(parent)
    raise_layer(NO_NEW_PRIVILEGES, refuse_new_privileges, raised)
    raise_layer(NETWORK_NAMESPACE, leave_network, raised)
    raise_layer(
        FILES,
        lambda: restrict_files(folders=readable.folders, files=readable.files, listings=readable.listings),
        raised,
    )
    under_landlock = FILES.name in raised.active
    raise_layer(CAPABILITIES, lambda: drop_capabilities(keep_reading=under_landlock), raised)
    raise_layer(SYSTEM_CALLS, restrict_system_calls, raised)
