"""Signals that end a daemon."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from threading import Event

import pytest

from apportion_cli.termination_signals import set_on_termination


@pytest.fixture
def terminal() -> Iterator[None]:
    """The tests themselves may run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_sets_the_event_also_while_the_main_thread_holds_its_lock(number: signal.Signals) -> None:
    ended = Event()
    with set_on_termination(ended):
        with ended._cond:
            # With a handler that sets the event, the main thread would wait for itself here.
            signal.raise_signal(number)
        assert ended.wait(60)


def test_process_under_nohup_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ended = Event()
    try:
        with set_on_termination(ended):
            signal.raise_signal(signal.SIGHUP)
            assert not ended.wait(0.2)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_former_handlers_are_restored() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with set_on_termination(Event()):
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] != before
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
