"""A process that has the model of policies loaded, and forks the children that evaluate policies.

Most of the processor time of an evaluation is the start of an interpreter that imports the model. A fork of this process
omits that part; the confinement, the supervision and the parsing of the response are the same. Tests that are marked
`security`, and commands that tests start as processes, start new interpreters.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import apportion_policy
from apportion_policy.evaluation import __main__ as child_program
from apportion_policy.evaluation.child import main
from apportion_policy.evaluation.kernel import KernelError, system_call
from apportion_policy.evaluation.sandbox import find_kernel_layers
from apportion_policy.evaluation.startup import close_inherited

_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT = 0x8000
"""The parent of the new process is that of this process, which supervises it."""
_MAX_REQUEST_BYTES = 1 << 16
_REFUSED = 0


class EvaluationTemplate:
    """The template process, which starts with the first evaluation."""

    def __init__(self) -> None:
        self._posix_spawn = os.posix_spawn
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._environment: Mapping[str, str] = {}

    def posix_spawn(self, path: str, arguments: list[str], environment: Mapping[str, str], **how: Any) -> int:
        """Start a process as `os.posix_spawn` does, from the template if it is the child of an evaluation."""
        if child_program.__file__ in arguments:
            connection = self._connect(environment)
            if connection is not None and environment == self._environment:
                started = _request(connection, arguments[3:], how["file_actions"])
                if started != _REFUSED:
                    return started
        return self._posix_spawn(path, arguments, environment, **how)

    def close(self) -> None:
        """End the template; the next evaluation starts another."""
        if self._process is not None and self._connection is not None:
            self._connection.close()
            self._process.wait()
            self._process = self._connection = None

    def _connect(self, environment: Mapping[str, str]) -> socket.socket | None:
        if self._connection is None and sys.platform == "linux" and os.uname().machine in _CLONE:
            self._connection, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            command = [sys.executable, "-P", __file__, str(theirs.fileno())]
            self._environment = dict(environment)
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
            theirs.close()
        return self._connection


def _request(connection: socket.socket, arguments: Sequence[str], actions: Sequence[tuple[int, ...]]) -> int:
    """Return the process id of a new child, or `_REFUSED`."""
    sources = {action[2]: action[1] for action in actions if action[0] == os.POSIX_SPAWN_DUP2}
    answer, trace = int(arguments[0]), int(arguments[1])
    prints = sources[sources[1]]
    socket.send_fds(connection, [json.dumps(arguments[2:]).encode()], [sources[answer], sources[trace], prints])
    return int(connection.recv(_MAX_REQUEST_BYTES))


def _serve(connection: socket.socket) -> None:
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, _MAX_REQUEST_BYTES, 3)
        if not request:
            return
        started = _REFUSED
        with suppress(KernelError):
            started = system_call(_CLONE[os.uname().machine], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
            if started == 0:
                _evaluate(json.loads(request), *descriptors)
        connection.send(str(started).encode())
        for descriptor in descriptors:
            os.close(descriptor)


def _evaluate(arguments: list[str], answer: int, trace: int, prints: int) -> None:
    """Do as `__main__` does in a new interpreter, and end this process."""
    os.setsid()
    for copy in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(prints, copy)
    close_inherited(answer, trace)
    main([str(answer), str(trace), *arguments])


if __name__ == "__main__":
    for name in apportion_policy.__all__:
        getattr(apportion_policy, name)
    find_kernel_layers(os.getppid())
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
