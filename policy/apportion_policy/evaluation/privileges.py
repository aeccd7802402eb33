"""Rights that the child gives up on Linux before it runs a policy."""

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
    """Have the kernel kill this process when the thread that started it ends. Raises `KernelError`."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def refuse_new_privileges() -> None:
    """Make set-uid programs ordinary ones, which seccomp and Landlock ask for. Raises `KernelError`.

    Core dumps are switched off as well: a handler named in `core_pattern` ignores the limit on their size.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_DUMPABLE, 0)


def leave_network() -> None:
    """Move to a network namespace without any interface that is up. Raises `KernelError`."""
    isolated = _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    try:
        unshare(isolated)
    except KernelError:
        # Without root it takes a user namespace, which some distributions and containers refuse.
        unshare(_CLONE_NEWUSER | isolated)


def drop_capabilities(*, keep_reading: bool) -> None:
    """Give up what root may do beyond an ordinary user. Raises `KernelError`.

    Args:
        keep_reading: Keep, where it is held, the right to read files whatever their mode: root in a container
            evaluates folders that belong to the user of the host. Only for use under Landlock, which bounds it.
    """
    machine = this_machine()
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), 8)
    kept = 1 << _CAP_DAC_READ_SEARCH if keep_reading else 0
    for capability in range(64):
        if not kept >> capability & 1:
            try:
                prctl(PR_CAPBSET_DROP, capability)
            except KernelError:
                break  # Past the last capability of this kernel, or no right to change the set.
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
