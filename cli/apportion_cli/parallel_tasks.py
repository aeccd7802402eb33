"""Tasks in forked processes, one process each, with their progress.

A process inherits what its parent has read, and its memory is returned when its task ends. A pool would keep the memory
of every task, because commands run without the garbage collector.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from traceback import format_exception
from typing import Any, TypeVar

from apportion_cli.errors import PreconditionError

Result = TypeVar("Result")
OnProgress = Callable[[float], None]
"""Receives the fraction of a task that is done, about once per second."""

_PERIOD_S = 0.2


@dataclass(slots=True)
class _Running:
    number: int
    process: ForkProcess
    fraction: float = 0.0


def in_processes(
    tasks: Sequence[Callable[[OnProgress], Result]],
    n_processes: int,
    on_progress: Callable[[int, Sequence[float]], None],
) -> list[Result]:
    """Return the results of tasks in their order, of which at most `n_processes` run at a time.

    `on_progress` is called several times per second with the number of tasks that have ended, and the progress of those
    that run. If it raises an exception, or a task does, the other tasks are killed.

    Raises:
        PreconditionError: If a process was killed, for example because no memory is left.
        RuntimeError: If a process ended by itself without a result.
    """
    waiting = deque(enumerate(tasks))
    running: dict[Connection, _Running] = {}
    results: dict[int, Result] = {}
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                number, task = waiting.popleft()
                receiver, process = _started(task)
                running[receiver] = _Running(number, process)
            for ready in wait(list(running), timeout=_PERIOD_S):
                receiver = next(each for each in running if each is ready)
                what, value = _received(receiver, running[receiver].process)
                if what == "progress":
                    running[receiver].fraction = value
                elif what == "result":
                    ended = running.pop(receiver)
                    results[ended.number] = value
                    ended.process.join()
                    receiver.close()
                else:
                    raise value
            on_progress(len(results), [each.fraction for each in running.values()])
    finally:
        for each in running.values():
            each.process.kill()
            each.process.join()
    return [results[number] for number in range(len(tasks))]


def _started(task: Callable[[OnProgress], Any]) -> tuple[Connection, ForkProcess]:
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(task, sender, os.getpid()), daemon=True)
    process.start()
    # The end of the process then closes the pipe.
    sender.close()
    return receiver, process


def _received(receiver: Connection, process: ForkProcess) -> tuple[str, Any]:
    try:
        what, value = receiver.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        if code >= 0:
            raise RuntimeError(f"a simulation's process ended with exit code {code}, without a result") from None
        raise PreconditionError(
            f"a simulation was killed ({signal.Signals(-code).name})", hint="if memory is short, pass --jobs 1"
        ) from None
    return what, value


def _run(task: Callable[[OnProgress], Any], sender: Connection, parent: int) -> None:
    # An interrupt of the terminal reaches every process; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def on_progress(fraction: float) -> None:
        if os.getppid() != parent:
            os._exit(1)
        sender.send(("progress", fraction))

    try:
        message: tuple[str, Any] = ("result", task(on_progress))
    except Exception as error:  # noqa: BLE001 - the parent raises whatever the task did, and kills the other tasks
        message = ("error", _portable(error))
    sender.send(message)
    sender.close()


def _portable(error: Exception) -> Exception:
    """Return an error that can be sent to the parent, with its traceback in a note for the report of a crash."""
    trace = "".join(format_exception(error))
    try:
        pickle.dumps(error)
        copy(error)  # As the parent makes it from its arguments.
    except (pickle.PicklingError, AttributeError, TypeError):
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(trace)
    return error
