"""Landlock: restrict the files that this process may read, without root.

Everything that a rule does not allow is denied: there are no rules for executing, writing, creating and removing.
Network and scope bits deny TCP, abstract sockets and signals to other processes, if the kernel supports them. A process
under Landlock cannot trace one outside, which also denies root access to `/proc/<pid>/environ` of the caller.

Source: Linux `include/uapi/linux/landlock.h`; ABI 1 is Linux 5.13.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from apportion_policy.evaluation.kernel import KernelError, address_of, system_call

# The same numbers on every architecture, as with all system calls since Linux 5.1.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
# Highest known right of each ABI version: 13 rights in ABI 1, REFER in 2, TRUNCATE in 3, IOCTL_DEV in 5.
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_RIGHTS_SINCE, _NET_BIND_AND_CONNECT_TCP = 4, 0b11
_SCOPES_SINCE, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 6, 0b11


def abi_version() -> int:
    """Return the Landlock version of this kernel.

    Raises:
        KernelError: With `ENOSYS` if it is not supported, `EOPNOTSUPP` if it is disabled.
    """
    try:
        return system_call(_CREATE_RULESET, 0, 0, _CREATE_RULESET_VERSION)
    except KernelError as refused:
        if refused.errno == errno.EPERM:
            # The kernel never returns this; the seccomp filter of a container runtime that does not know the call does
            # (runc before 1.0.0-rc93).
            raise KernelError(errno.ENOSYS, "the container runtime does not permit it") from refused
        raise


def restrict_files(*, folders: Sequence[str], files: Sequence[str], listings: Sequence[str]) -> int:
    """Irrevocably restrict this process to reading; requires no_new_privs.

    Args:
        folders: Folders that are readable recursively.
        files: Readable single files.
        listings: Folders that may be listed recursively.

    Returns:
        The ABI version in force.

    Raises:
        KernelError: If the kernel has no Landlock, or denies it; the process is then not confined.
    """
    version = abi_version()
    ruleset = _create_ruleset(version)
    try:
        for paths, rights in ((folders, _READ_FILE | _READ_DIR), (files, _READ_FILE), (listings, _READ_DIR)):
            for path in paths:
                _allow(ruleset, path, rights)
        system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _create_ruleset(version: int) -> int:
    file_rights = _FILE_RIGHTS[max(known for known in _FILE_RIGHTS if known <= version)]
    net_rights = _NET_BIND_AND_CONNECT_TCP if version >= _NET_RIGHTS_SINCE else 0
    scopes = _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if version >= _SCOPES_SINCE else 0
    # An older kernel rejects a longer record unless the fields that it does not know are zero, which they are here.
    attributes = struct.pack("=QQQ", file_rights, net_rights, scopes)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    return system_call(_CREATE_RULESET, address_of(buffer), len(attributes), 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # A path that cannot be opened cannot be granted, and stays denied.
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, opened), 12)
        system_call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, address_of(rule), 0)
    finally:
        os.close(opened)
