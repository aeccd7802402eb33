"""The order and number of parallel writes."""

from __future__ import annotations

import threading

import pytest

from apportion_runtime.kube.errors import NotLeader, Origin, Refused
from apportion_runtime.kube.write_pool import Priority, WritePool, results

_LIMIT_S = 60


def _blocked(pool: WritePool) -> threading.Event:
    """Occupy the only thread until the event is set."""
    started, release = threading.Event(), threading.Event()

    def wait() -> None:
        started.set()
        release.wait(_LIMIT_S)

    pool.submit(Priority.BIND, wait)
    assert started.wait(_LIMIT_S)
    return release


def test_binds_are_written_before_notes_and_the_last_note_of_an_object_alone() -> None:
    written: list[str] = []
    pool = WritePool(1, written.append)
    release = _blocked(pool)
    pool.note("a", lambda: written.append("first note of a"))
    pool.note("b", lambda: written.append("note of b"))
    pool.note("a", lambda: written.append("last note of a"))
    pool.submit(Priority.EVICT, lambda: written.append("eviction"))
    pool.submit(Priority.BIND, lambda: written.append("bind"))
    release.set()
    pool.stop()
    assert written == ["bind", "eviction", "last note of a", "note of b"]


def test_note_waits_for_one_of_the_same_object_that_is_being_written() -> None:
    written: list[str] = []
    started, release, other = threading.Event(), threading.Event(), threading.Event()
    pool = WritePool(16, written.append)

    def write_first() -> None:
        started.set()
        release.wait(_LIMIT_S)
        written.append("first note of a")

    pool.note("a", write_first)
    assert started.wait(_LIMIT_S)
    pool.note("a", lambda: written.append("last note of a"))
    pool.note("b", other.set)
    assert other.wait(_LIMIT_S)
    release.set()
    pool.stop()
    assert written == ["first note of a", "last note of a"]


def test_no_more_writes_run_at_once_than_there_are_threads() -> None:
    lock, running, most = threading.Lock(), 0, 0
    # Each write waits until four run.
    together = threading.Barrier(4)
    pool = WritePool(4, lambda _: None)

    def write() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(_LIMIT_S)
        with lock:
            running -= 1

    results([pool.submit(Priority.BIND, write) for _ in range(40)])
    pool.stop()
    assert most == 4


def test_notes_leave_threads_to_binds() -> None:
    lock, release, started = threading.Lock(), threading.Event(), threading.Semaphore(0)
    running, most = 0, 0
    pool = WritePool(8, lambda _: None)

    def write() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        started.release()
        release.wait(_LIMIT_S)
        with lock:
            running -= 1

    for number in range(40):
        pool.note(number, write)
    results([pool.submit(Priority.BIND, lambda: None) for _ in range(40)])
    assert all(started.acquire(timeout=_LIMIT_S) for _ in range(2))
    release.set()
    pool.stop()
    assert (running, most) == (0, 2)


def test_error_is_raised_after_all_writes() -> None:
    done: list[int] = []
    pool = WritePool(2, lambda _: None)

    def refuse() -> None:
        raise NotLeader("lost")

    futures = [pool.submit(Priority.BIND, refuse), *(pool.submit(Priority.BIND, lambda: done.append(1)) for _ in "abc")]
    with pytest.raises(NotLeader):
        results(futures)
    pool.stop()
    assert done == [1, 1, 1]


def test_failed_note_is_reported_and_notes_after_lost_lease_are_dropped() -> None:
    failed: list[str] = []
    pool = WritePool(1, failed.append)
    release = _blocked(pool)

    def refuse() -> None:
        raise Refused(422, "invalid message")

    def lose() -> None:
        raise NotLeader("lost")

    pool.note("a", refuse)
    pool.note("b", lose)
    pool.note("c", lambda: failed.append("written"))
    release.set()
    pool.stop()
    assert failed == ["invalid message"]


def test_note_about_a_deleted_object_is_no_failure() -> None:
    failed: list[str] = []
    pool = WritePool(1, failed.append)

    def refuse() -> None:
        raise Refused(404, "podgroups.scheduling.run.ai not found")

    def deny() -> None:
        raise Refused(404, "denied by a webhook", origin=Origin.ADMISSION)

    pool.note("a", refuse)
    pool.note("b", deny)
    pool.stop()
    assert failed == ["denied by a webhook"]
