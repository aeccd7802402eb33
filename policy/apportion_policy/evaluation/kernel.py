"""System calls for confinement that Python does not provide, through ctypes.

Linux only. Numbers differ between architectures; on an architecture that is not in the table, the layers that need them
are reported as missing.
"""

from __future__ import annotations

import ctypes
import errno
import os
from dataclasses import dataclass

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38


class KernelError(OSError):
    """The kernel denies the request or does not support it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Differences between processor architectures.

    Source: Linux `include/uapi/linux/audit.h` (AUDIT_ARCH_*), `arch/x86/entry/syscalls/syscall_64.tbl` and
    `include/uapi/asm-generic/unistd.h`.
    """

    name: str
    audit_architecture: int
    capset: int


MACHINES = {
    "x86_64": Machine("x86_64", 0xC000003E, 126),
    "aarch64": Machine("aarch64", 0xC00000B7, 91),
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def this_machine() -> Machine:
    """Return the architecture of this process.

    Raises:
        KernelError: If its system call numbers are not known here.
    """
    # A 32-bit interpreter on a 64-bit kernel uses different numbers than `uname` suggests.
    machine = MACHINES.get(os.uname().machine)
    if machine is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise KernelError(errno.EOPNOTSUPP, f"no system call table for {os.uname().machine}")
    return machine


def prctl(option: int, first: int, second: int = 0) -> None:
    """Change an attribute of this process. Raises `KernelError`."""
    unused = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(first), ctypes.c_ulong(second), unused, unused), "prctl")


def system_call(number: int, *arguments: int) -> int:
    """Return the result of a system call. Raises `KernelError`."""
    return _checked(_libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments)), str(number))


def unshare(flags: int) -> None:
    """Leave namespaces shared with other processes. Raises `KernelError`."""
    _checked(_libc.unshare(flags), "unshare")


def address_of(buffer: ctypes.Array[ctypes.c_char]) -> int:
    """Return the address of a buffer; the caller must keep it alive during the call."""
    return ctypes.addressof(buffer)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise KernelError(code, f"{what}: {os.strerror(code)}")
    return result
