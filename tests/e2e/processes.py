"""Child processes of the control plane: free ports, logs in files, and an end by process id whatever happens."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_STOP_S = 5


class NotReady(Exception):
    """A part of the control plane ended or took too long; the message ends with what it logged last."""


@dataclass(frozen=True, slots=True)
class Running:
    """A process that was started, and the file that holds both of its output streams."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def log_tail(self, n_lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-n_lines:])


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports of the loopback interface on which nothing listens; all are held until all are found."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return tuple(one.getsockname()[1] for one in sockets)


@contextlib.contextmanager
def running(command: Sequence[str | Path], log: Path, *, folder: Path | None = None) -> Iterator[Running]:
    """Start a process, in a folder or in this one, and stop it, and nothing else, when the block ends."""
    name = Path(command[0]).name
    with log.open("ab") as stream:
        # A session of its own: an interrupt from the terminal reaches pytest, which then stops the processes in order.
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield Running(name, process, log)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until(condition: str, holds: Iterator[bool], of: Running, *, limit_s: float) -> None:
    """Return when the next value is true.

    Raises:
        NotReady: If the process ended or the limit passed first.
    """
    deadline = time.monotonic() + limit_s
    for value in holds:
        if value:
            return
        ended = of.process.poll()
        if ended is not None:
            raise NotReady(f"{of.name} ended with code {ended} before {condition}:\n{of.log_tail()}")
        if time.monotonic() > deadline:
            raise NotReady(f"{of.name}: not {condition} after {limit_s:.0f} s:\n{of.log_tail()}")
        time.sleep(0.1)
