"""The innermost layer: report denied operations at the author's line, before the kernel returns an error number.

A Python audit hook cannot be removed, but malicious code can bypass it; its purposes are the messages, the list of
files read, and systems without the kernel's layers.

Source: the audit events table of the Python documentation; PEP 578.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apportion_policy.evaluation.read_access import ReadablePaths
from apportion_policy.evaluation.tree import is_hidden, is_within

_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MAX_REFUSED = 20
_NATIVE_SUFFIXES = (".so", ".dylib", ".pyd")

_REFUSED_EVENTS = {
    "open a network connection": (
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "socket.getservbyname",
        "socket.getservbyport",
        "socket.sendmsg",
        "socket.sendto",
        "syslog.openlog",
        "syslog.syslog",
    ),
    "start a program": (
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
        "webbrowser.open",
    ),
    "start a process": ("os.fork", "os.forkpty"),
    "start a thread": ("_thread.start_new_thread", "_thread.start_joinable_thread"),
    "signal a process": ("os.kill", "os.killpg", "signal.pthread_kill"),
    "call native code": (
        "ctypes.call_function",
        "ctypes.cdata",
        "ctypes.cdata/buffer",
        "ctypes.dlopen",
        "ctypes.dlsym",
        "ctypes.dlsym/handle",
        "ctypes.string_at",
        "ctypes.wstring_at",
    ),
    "change a resource limit": ("resource.setrlimit", "resource.prlimit"),
}
_WRITING_EVENTS = (
    "os.chflags",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.lockf",
    "os.mkdir",
    "os.remove",
    "os.removexattr",
    "os.rename",
    "os.rmdir",
    "os.setxattr",
    "os.symlink",
    "os.truncate",
    "os.utime",
)

_Check = Callable[[tuple[Any, ...]], None]


class SandboxViolationError(PermissionError):
    """A policy's operation that the sandbox denies; a library for which it is optional may catch it as an OSError."""


@dataclass(frozen=True, slots=True)
class AuditTrail:
    """The policy's operations, in order; appended while the policy runs.

    Attributes:
        files_read: The files of the policy's tree that were opened for reading, as keys.
        refused: The first denied operations.
    """

    files_read: dict[str, None] = field(default_factory=dict[str, None])
    refused: list[str] = field(default_factory=list[str])


def install_audit_hook(readable: ReadablePaths, root: str) -> AuditTrail:
    """Install the audit hook in this interpreter, and return its record."""
    trail = AuditTrail()
    checks: dict[str, _Check] = {
        event: _refusal(action) for action, events in _REFUSED_EVENTS.items() for event in events
    }
    checks |= dict.fromkeys(_WRITING_EVENTS, _refuse_change)
    checks["open"] = _open_check(readable, root, trail.files_read)
    checks["os.listdir"] = checks["os.scandir"] = _listing_check(readable)
    checks["import"] = _import_check(root)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        check = checks.get(event)
        if check is None:
            return
        try:
            check(arguments)
        except SandboxViolationError as violation:
            if len(trail.refused) < _MAX_REFUSED:
                trail.refused.append(str(violation))
            raise

    sys.addaudithook(hook)
    return trail


def _refusal(action: str) -> _Check:
    def check(arguments: tuple[Any, ...]) -> None:
        raise SandboxViolationError(f"this policy tried to {action}")

    return check


def _refuse_change(arguments: tuple[Any, ...]) -> None:
    path = arguments[0] if arguments else None
    raise SandboxViolationError(f"this policy tried to change {_shown(path)}")


def _open_check(readable: ReadablePaths, root: str, files_read: dict[str, None]) -> _Check:
    realpath = os.path.realpath

    def check(arguments: tuple[Any, ...]) -> None:
        path, _, flags = arguments
        if isinstance(path, int):
            return
        if isinstance(flags, int) and flags & _WRITING_FLAGS:
            raise SandboxViolationError(f"this policy tried to write to {_shown(path)}")
        real = realpath(os.fsdecode(path))
        if not readable.may_read(real):
            raise SandboxViolationError(
                f"this policy tried to read {_shown(path)}{_why(real, os.fsdecode(path), root)}"
            )
        if is_within(real, root):
            if real.endswith(".pyc"):
                raise SandboxViolationError(
                    f"this policy tried to run compiled Python without its source: {_shown(path)}"
                )
            files_read[real] = None

    return check


def _listing_check(readable: ReadablePaths) -> _Check:
    realpath = os.path.realpath

    def check(arguments: tuple[Any, ...]) -> None:
        path = arguments[0]
        if isinstance(path, int):
            return
        real = realpath("." if path is None else os.fsdecode(path))
        if not readable.may_list(real):
            raise SandboxViolationError(
                f"this policy tried to list {_shown(path)}, which is outside the policy's folder"
            )

    return check


def _import_check(root: str) -> _Check:
    def check(arguments: tuple[Any, ...]) -> None:
        file = arguments[1]
        if isinstance(file, str) and file.endswith(_NATIVE_SUFFIXES) and is_within(os.path.realpath(file), root):
            raise SandboxViolationError(f"this policy tried to load native code: {_shown(file)}")

    return check


def _why(real: str, path: str, root: str) -> str:
    if is_hidden(real, root):
        return ", which is hidden and therefore not part of the policy"
    if real != os.path.abspath(path):  # noqa: PTH100 - `..` is to be removed by its text.
        return f", which points to {real}, outside the policy's folder"
    return ", which is outside the policy's folder"


def _shown(path: object) -> str:
    return os.fsdecode(path) if isinstance(path, str | bytes) else "a file"
