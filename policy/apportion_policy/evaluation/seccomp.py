"""A seccomp filter: an allow list of system calls.

A denied call returns EPERM, so that Python raises PermissionError at the author's line instead of dying. A call made
for another architecture (32-bit calls on a 64-bit kernel bypass the numbers) kills the process.

Source: Linux `Documentation/userspace-api/seccomp_filter.rst`, `include/uapi/linux/{seccomp,filter}.h`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

from apportion_policy.evaluation.kernel import (
    PR_SET_SECCOMP,
    KernelError,
    Machine,
    address_of,
    prctl,
    this_machine,
)
from apportion_policy.evaluation.syscalls import ALLOWED, FCNTL, IOCTL, OPEN, OPENAT, PRLIMIT64, TGKILL, number

_SECCOMP_MODE_FILTER = 2
_KILL_PROCESS = 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_ALLOW = 0x7FFF0000

# Classic BPF: 32-bit loads from `struct seccomp_data`, comparisons with a constant, return.
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE, _OFFSET_ARGUMENTS = 0, 4, 16

_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# TCGETS (isatty), FIONREAD, FIOCLEX, FIONCLEX: TIOCSTI would type into the caller's terminal.
_IOCTL_REQUESTS = (0x5401, 0x541B, 0x5451, 0x5450)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: F_SETOWN would signal other processes.
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)

_Instruction = tuple[int, int, int, int]


def restrict_system_calls() -> None:
    """Irrevocably install the filter on this process; requires no_new_privs.

    Raises:
        KernelError: If the kernel or this architecture does not support it; the process is then not confined.
    """
    if sys.byteorder != "little":
        raise KernelError(errno.EOPNOTSUPP, "the filter supports only little-endian machines")
    program = filter_program(this_machine(), os.getpid())
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a count, padding, and the address of the instructions.
    head = struct.pack("=HxxxxxxQ", len(program) // 8, address_of(instructions))
    header = ctypes.create_string_buffer(head, len(head))
    prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, address_of(header))


def filter_program(machine: Machine, process_id: int) -> bytes:
    """Return the filter as packed `struct sock_filter` records."""
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, machine.audit_architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    for pair in ALLOWED.values():
        allowed = number(pair, machine.name)
        if allowed is not None:
            program += [(_JUMP_IF_EQUAL, 0, 1, allowed), (_RETURN, 0, 0, _ALLOW)]
    conditions = (
        (OPENAT, _no_bit_of(2, _WRITING_FLAGS)),
        (OPEN, _no_bit_of(1, _WRITING_FLAGS)),
        (IOCTL, _one_of(1, _IOCTL_REQUESTS)),
        (FCNTL, _one_of(1, _FCNTL_COMMANDS)),
        (TGKILL, _one_of(0, (process_id,))),
        (PRLIMIT64, _is_null(2)),
    )
    for pair, condition in conditions:
        conditional = number(pair, machine.name)
        if conditional is not None:
            program += [(_JUMP_IF_EQUAL, 0, len(condition), conditional), *condition]
    program.append((_RETURN, 0, 0, _REFUSE))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _low_half(argument: int) -> int:
    return _OFFSET_ARGUMENTS + 8 * argument


# Every path of a condition ends in a return, so control never leaves its block.


def _no_bit_of(argument: int, mask: int) -> list[_Instruction]:
    return [
        (_LOAD, 0, 0, _low_half(argument)),
        (_JUMP_IF_ANY_BIT, 1, 0, mask),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]


def _one_of(argument: int, values: tuple[int, ...]) -> list[_Instruction]:
    tests: list[_Instruction] = []
    for value in values:
        tests += [(_JUMP_IF_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    return [(_LOAD, 0, 0, _low_half(argument)), *tests, (_RETURN, 0, 0, _REFUSE)]


def _is_null(argument: int) -> list[_Instruction]:
    return [
        (_LOAD, 0, 0, _low_half(argument)),
        (_JUMP_IF_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _low_half(argument) + 4),
        (_JUMP_IF_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
