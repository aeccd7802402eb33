"""Supervise the child within its limits: read its output, and end it."""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import dataclass
from enum import Enum

from apportion_policy.evaluation.answer import MAX_HEADER_BYTES, AnswerError, whole_size
from apportion_policy.evaluation.child_process import ChildProcess
from apportion_policy.evaluation.crash_trace import MAX_TRACE_BYTES
from apportion_policy.evaluation.limits import PRINTS_KEPT_BYTES, Limits

_READ_BYTES = 1 << 20
# Time for a child to write its emergency traceback, and for the caller to read it after other work.
_TRACE_S = 0.3
_LATE_CALLER_S = 1.0
_EXIT_S = 0.5


class ExitReason(Enum):
    """The reason for the end of the child."""

    ANSWERED = "answered"
    BY_ITSELF = "exited"
    CUT_OFF = "closed its pipes"
    TIME_LIMIT = "time limit"
    PROCESSOR_TIME = "CPU time limit"
    ANSWER_TOO_LARGE = "result too large"
    PRINTS_TOO_LARGE = "printed output too large"


@dataclass(frozen=True, slots=True)
class EndedChild:
    """Result of a child process.

    Attributes:
        ending: The reason for its end.
        answer: Its response, possibly incomplete.
        trace: Its emergency traceback, if it wrote one.
        prints: The beginning of the policy's printed output.
        status: Exit status, or minus the signal that killed it; meaningless if this process killed it.
        cpu_s: Processor time it used, seconds.
    """

    ending: ExitReason
    answer: bytes
    trace: bytes
    prints: bytes
    status: int
    cpu_s: float


class _Streams:
    """The bytes received from the three pipes, each limited in size."""

    def __init__(self, child: ChildProcess, limits: Limits) -> None:
        self.answer = bytearray()
        self.trace = bytearray()
        self.prints = bytearray()
        self.printed_bytes = 0
        self.open = {child.answer, child.trace, child.prints}
        self._child = child
        self._limits = limits
        self._whole_size: int | None = None
        self._poll = select.poll()
        for descriptor in self.open:
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)

    def receive(self, wait_s: float) -> bool:
        """Read available data, waiting up to `wait_s` seconds; return whether any arrived or a pipe ended."""
        ready = self._poll.poll(max(0.0, wait_s) * 1000)
        for descriptor, _ in ready:
            try:
                data = os.read(descriptor, _READ_BYTES)
            except BlockingIOError:
                continue
            if data:
                self._take(descriptor, data)
            else:
                self._poll.unregister(descriptor)
                self.open.discard(descriptor)
        return bool(ready)

    def _take(self, descriptor: int, data: bytes) -> None:
        if descriptor == self._child.answer:
            self.answer += data
        elif descriptor == self._child.trace:
            self.trace += data[: MAX_TRACE_BYTES - len(self.trace)]
        else:
            self.printed_bytes += len(data)
            self.prints += data[: PRINTS_KEPT_BYTES - len(self.prints)]

    def drain_output(self) -> None:
        """Read printed output that was still in the pipe when the process was killed."""
        while len(self.prints) < PRINTS_KEPT_BYTES:
            try:
                data = os.read(self._child.prints, PRINTS_KEPT_BYTES)
            except BlockingIOError:
                return
            if not data:
                return
            self._take(self._child.prints, data)

    def ending(self) -> ExitReason | None:
        """Return the reason why there is nothing more to read, if any."""
        if len(self.answer) > self._limits.output_bytes + MAX_HEADER_BYTES:
            return ExitReason.ANSWER_TOO_LARGE
        if self.printed_bytes > self._limits.print_bytes:
            return ExitReason.PRINTS_TOO_LARGE
        try:
            if self._whole_size is None:
                self._whole_size = whole_size(self.answer)
        except AnswerError:
            return ExitReason.ANSWERED
        if self._whole_size is not None and len(self.answer) >= self._whole_size:
            return ExitReason.ANSWERED
        return None if self.open else ExitReason.BY_ITSELF


def supervise(child: ChildProcess, limits: Limits) -> EndedChild:
    """Return the ended child, at the latest shortly after its time limit."""
    streams = _Streams(child, limits)
    deadline_s = child.started_s + limits.wall_s
    if deadline_s < time.monotonic():
        deadline_s = time.monotonic() + _LATE_CALLER_S
    reaped = None
    try:
        ending = _follow(streams, deadline_s)
        if ending is ExitReason.TIME_LIMIT and not streams.trace:
            _ask_for_trace(child, streams)
        if ending is ExitReason.BY_ITSELF:
            reaped = _reap_ending(child)
            ending = ExitReason.BY_ITSELF if reaped else ExitReason.CUT_OFF
    finally:
        status, cpu_s = reaped or _kill(child)
    streams.drain_output()
    _close(child)
    return EndedChild(ending, bytes(streams.answer), bytes(streams.trace), bytes(streams.prints), status, cpu_s)


def end(child: ChildProcess) -> None:
    """Kill the child and discard its output."""
    _kill(child)
    _close(child)


def _follow(streams: _Streams, deadline_s: float) -> ExitReason:
    while True:
        ending = streams.ending()
        if ending is not None:
            return ending
        remaining_s = deadline_s - time.monotonic()
        if streams.trace:
            # A crash closes the pipes at once; after the warning about its processor time, the process continues.
            remaining_s = min(remaining_s, _TRACE_S)
        if remaining_s <= 0:
            return ExitReason.TIME_LIMIT
        traced = len(streams.trace)
        if not streams.receive(remaining_s) and traced:
            # The system counts processor time in ticks, whose sum may exceed the reported usage.
            return ExitReason.PROCESSOR_TIME


def _ask_for_trace(child: ChildProcess, streams: _Streams) -> None:
    os.kill(child.process_id, signal.SIGALRM)
    until_s = time.monotonic() + _TRACE_S
    while streams.open and time.monotonic() < until_s:
        # Output arrives in many small pieces; a pause is its end.
        if not streams.receive(0.05) and streams.trace:
            return


_Reaped = tuple[int, float]


def _reap_ending(child: ChildProcess) -> _Reaped | None:
    """Return exit code and processor time of a child with closed pipes; `None` if it does not end."""
    until_s = time.monotonic() + _EXIT_S
    while time.monotonic() < until_s:
        process_id, status, usage = os.wait4(child.process_id, os.WNOHANG)
        if process_id:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        time.sleep(0.002)
    return None


def _kill(child: ChildProcess) -> _Reaped:
    """Kill and reap the child and all processes it started; return its exit code and processor time."""
    # A process that is already exiting keeps its own exit code.
    for kill in (os.killpg, os.kill):
        try:
            kill(child.process_id, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # The process group may be gone before its leader.
            continue
    _, status, usage = os.wait4(child.process_id, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def _close(child: ChildProcess) -> None:
    for descriptor in (child.answer, child.trace, child.prints):
        os.close(descriptor)
