"""Parallel writes: a fixed number of threads, binds before evictions, and both before notes.

The pool does not wait for notes (conditions and events); a later note of the same key replaces one that is still
queued, and waits for one that is being written, so the backlog is bounded by the number of objects, and the last note is the
last that is sent. Notes are written by a part of the threads: thousands of them
follow the binds of a large cycle, and must not delay those of the next ones, here and on the API server.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from enum import IntEnum
from heapq import heappop, heappush
from typing import TypeVar

from apportion_runtime.kube.errors import NotLeader, Refused, Rejection, Unreachable

T = TypeVar("T")
_END = 9
_THREADS_PER_NOTE = 4
"""A note is written for every so many threads at once."""


class Priority(IntEnum):
    """The order of writes; the lowest first."""

    BIND = 0
    EVICT = 1
    GROUP = 2
    NOTE = 3


class WritePool:
    """Threads that write.

    Args:
        n_threads: The maximum number of concurrent writes.
        on_failure: Receives the error of a note, unless its object has been deleted.
    """

    def __init__(self, n_threads: int, on_failure: Callable[[str], None]) -> None:
        self._on_failure = on_failure
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._queued = threading.Condition()
        self._n_notes = 0
        self._most_notes = -(-n_threads // _THREADS_PER_NOTE)
        self._order = itertools.count()
        self._notes: dict[Hashable, Callable[[], object]] = {}
        # The keys of the notes that are being written.
        self._writing: set[Hashable] = set()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._work, name="writer", daemon=True) for _ in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, priority: Priority, write: Callable[[], T]) -> Future[T]:
        """Queue a write."""
        future: Future[T] = Future()

        def work() -> None:
            try:
                future.set_result(write())
            except BaseException as failed:  # noqa: BLE001 - raised again by the waiting caller.
                future.set_exception(failed)

        self._put(priority, work)
        return future

    def note(self, key: Hashable, write: Callable[[], object]) -> None:
        """Queue a note, in place of a queued one with the same key, and after one that is being written."""
        with self._lock:
            waits = key in self._notes or key in self._writing
            self._notes[key] = write
        if not waits:
            self._put(Priority.NOTE, lambda: self._write_note(key))

    def drop_notes(self) -> int:
        """Drop the queued notes, since another scheduler leads or this one ends, and return their number."""
        with self._lock:
            n_notes = len(self._notes)
            self._notes.clear()
        return n_notes

    def stop(self) -> None:
        """End the threads after the queued writes."""
        for _ in self._threads:
            self._put(_END, _nothing)
        for thread in self._threads:
            thread.join()

    def _put(self, priority: int, work: Callable[[], None]) -> None:
        with self._queued:
            heappush(self._queue, (priority, next(self._order), work))
            self._queued.notify()

    def _write_note(self, key: Hashable) -> None:
        with self._lock:
            write = self._notes.pop(key, None)
            if write is None:
                return
            self._writing.add(key)
        try:
            write()
        except NotLeader:
            self.drop_notes()
        except (Refused, Unreachable) as failed:
            # What the note was about has been deleted meanwhile.
            if not (isinstance(failed, Refused) and failed.rejection is Rejection.GONE):
                self._on_failure(str(failed))
        finally:
            with self._lock:
                self._writing.discard(key)
                is_next = key in self._notes
            if is_next:
                self._put(Priority.NOTE, lambda: self._write_note(key))

    def _work(self) -> None:
        priority: int = Priority.BIND
        while priority != _END:
            priority, work = self._take()
            try:
                work()
            finally:
                # An idle thread must not keep the session of the last cycle.
                del work
                self._done(priority)

    def _take(self) -> tuple[int, Callable[[], None]]:
        with self._queued:
            self._queued.wait_for(self._is_ready)
            priority, _, work = heappop(self._queue)
            self._n_notes += priority == Priority.NOTE
            return priority, work

    def _is_ready(self) -> bool:
        return bool(self._queue) and (self._queue[0][0] != Priority.NOTE or self._n_notes < self._most_notes)

    def _done(self, priority: int) -> None:
        with self._queued:
            self._n_notes -= priority == Priority.NOTE
            # Another thread may wait for a note to be written, and then for the end.
            self._queued.notify()


def _nothing() -> None:
    """End a thread."""


def results(futures: list[Future[T]]) -> list[T]:
    """Return the results of writes once all of them are done; the first error is raised only then."""
    errors: list[BaseException] = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise errors[0]
    return [future.result() for future in futures]
