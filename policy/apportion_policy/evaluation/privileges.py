"""Privileges that the child drops on Linux before it runs a policy."""

from __future__ import annotations

import ctypes
import os
import signal
import struct

from apportion_policy.evaluation.kernel import (
    PR_CAPBSET_DROP,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    KernelError,
    address_of,
    prctl,
    system_call,
    this_machine,
    unshare,
)

_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_READ_SEARCH = 2
_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC, _CLONE_NEWUTS = 0x10000000, 0x40000000, 0x08000000, 0x04000000


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the thread that started it ends. Raises `KernelError`."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def refuse_new_privileges() -> None:
    """Disable set-uid programs, as seccomp and Landlock require. Raises `KernelError`.

    Core dumps are disabled as well, because a handler in `core_pattern` ignores the limit on their size.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_DUMPABLE, 0)


def leave_network() -> None:
    """Enter a network namespace without active interfaces. Raises `KernelError`."""
    isolated = _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    try:
        unshare(isolated)
    except KernelError:
        # Without root, this requires a user namespace, which some distributions and containers deny.
        unshare(_CLONE_NEWUSER | isolated)


def drop_capabilities(*, keep_reading: bool) -> None:
    """Drop the capabilities of root. Raises `KernelError`.

    Args:
        keep_reading: Keep the capability to read files regardless of their mode, if held: root in a container evaluates
            folders of the host's user. Use only under Landlock, which restricts it.
    """
    machine = this_machine()
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), 8)
    kept = 1 << _CAP_DAC_READ_SEARCH if keep_reading else 0
    for capability in range(64):
        if not kept >> capability & 1:
            try:
                prctl(PR_CAPBSET_DROP, capability)
            except KernelError:
                break  # Past the last capability of this kernel, or without the right to change the set.
    for wanted in (kept, 0):
        sets = struct.pack("=IIIIII", wanted, wanted, 0, 0, 0, 0)
        data = ctypes.create_string_buffer(sets, len(sets))
        try:
            system_call(machine.capset, address_of(header), address_of(data))
        except KernelError:
            if not wanted:
                raise
        else:
            return
