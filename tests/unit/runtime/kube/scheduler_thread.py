"""The process of the scheduler in a thread, and waiting for what it does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.http_server import Counters
from apportion_runtime.kube.leader_election import LeaderElection
from apportion_runtime.kube.scheduler_process import Options, run


@contextmanager
def in_thread(work: Callable[[Event], None]) -> Iterator[None]:
    """Run a function in a thread; the event that it receives is set at the end of the block."""
    ended = Event()
    thread = Thread(target=work, args=(ended,))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def scheduling(
    connection: Connection,
    options: Options,
    say: Callable[[str], None],
    *,
    election: LeaderElection | None = None,
    counters: Counters | None = None,
) -> Iterator[None]:
    """Run the scheduler while the block runs."""
    shown = counters or Counters()
    with in_thread(lambda ended: run(connection, options, election, shown, say=say, ended=ended)):
        yield


def until(reached: Callable[[], bool], log: Sequence[str] = (), limit_s: float = 45.0) -> None:
    """Wait for a condition; if it does not come about, fail with the end of the log.

    The limit is below `Options.idle_s`, after which a cycle would also see a change that has started none.
    """
    deadline = time.monotonic() + limit_s
    while not reached():
        assert time.monotonic() < deadline, "\n".join(log[-20:])
        time.sleep(0.01)
