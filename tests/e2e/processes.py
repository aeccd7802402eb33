"""Child processes of the control plane: free ports, logs in files, and termination by process id in all cases."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_STOP_S = 5
_setpriv = shutil.which("setpriv")
_ENDS_WITH_PARENT = (_setpriv, "--pdeathsig", "KILL") if _setpriv else ()
"""Linux ends the process with the one that started it, whatever ends that."""


class NotReady(Exception):
    """A part of the control plane exited or timed out; the message includes the end of its log."""


@dataclass(frozen=True, slots=True)
class Running:
    """A started process, and the file with both of its output streams."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def log_tail(self, n_lines: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-n_lines:])


def free_ports(count: int) -> tuple[int, ...]:
    """Return free ports of the loopback interface; all are reserved until all are found."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return tuple(one.getsockname()[1] for one in sockets)


@dataclass(slots=True)
class Restartable:
    """A process that a test may kill and start again."""

    command: Sequence[str | Path]
    log: Path
    running: Running

    def kill(self) -> None:
        """End the process without notice."""
        self.running.process.kill()
        self.running.process.wait()

    def start(self) -> Running:
        """Start it again, and return it."""
        self.running = _started(self.command, self.log, None)
        return self.running


@contextlib.contextmanager
def restartable(command: Sequence[str | Path], log: Path) -> Iterator[Restartable]:
    """Start a process, and stop the one that runs at the end of the block."""
    made = Restartable(command, log, _started(command, log, None))
    try:
        yield made
    finally:
        _stop(made.running.process)


@contextlib.contextmanager
def running(command: Sequence[str | Path], log: Path, *, folder: Path | None = None) -> Iterator[Running]:
    """Start a process, optionally in a folder, and stop only it at the end of the block."""
    started = _started(command, log, folder)
    try:
        yield started
    finally:
        _stop(started.process)


def _started(command: Sequence[str | Path], log: Path, folder: Path | None) -> Running:
    with log.open("ab") as stream:
        # A session of its own: an interrupt from the terminal reaches pytest, which then stops the processes in order.
        process = subprocess.Popen(
            [*_ENDS_WITH_PARENT, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Running(Path(command[0]).name, process, log)


def _stop(process: subprocess.Popen[bytes]) -> None:
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
