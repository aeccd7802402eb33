"""SIGTERM and SIGINT as an event: a daemon ends its work in order instead of being interrupted.

A signal handler must not set the event: it runs in the main thread, possibly while this thread holds the lock of the
event, which it would then wait for forever. The interpreter writes the number of a signal to a socket instead, and a thread
that reads it sets the event.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(slots=True)
class Termination:
    """The signal that has set the event, as `SIGTERM`; None until then."""

    signal: str | None = None


@contextmanager
def set_on_termination(ended: Event) -> Iterator[Termination]:
    """Set an event when the process is asked to end, while the block runs, and yield the signal that did.

    Must be called from the main thread.
    """
    received = Termination()
    reader, writer = socket.socketpair()
    writer.settimeout(0)
    # Under `nohup`, the process outlives its terminal.
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    handled = [number for number in _SIGNALS if number != signal.SIGHUP or not outlives]
    former = {number: signal.signal(number, lambda *_: None) for number in handled}
    former_descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = Thread(target=_set, args=(reader, ended, received), name="termination-signals", daemon=True)
    thread.start()
    try:
        yield received
    finally:
        signal.set_wakeup_fd(former_descriptor)
        for number, handler in former.items():
            signal.signal(number, handler)
        writer.close()
        thread.join()
        reader.close()


def _set(reader: socket.socket, ended: Event, received: Termination) -> None:
    while numbers := reader.recv(1):
        if numbers[0] in _SIGNALS:
            received.signal = received.signal or signal.Signals(numbers[0]).name
            ended.set()
