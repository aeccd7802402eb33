"""Tasks in forked processes: results in order, progress, errors, and processes that are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# In a process of its own, because forking the threads of a test run is not safe.
_PROGRAM = """
import os, signal, time
from apportion_cli.errors import PreconditionError
from apportion_cli.parallel_tasks import in_processes

def waits(seconds):
    def task(on_progress):
        on_progress(0.5)
        time.sleep(seconds)
        return seconds
    return task

def fails(on_progress):
    raise PreconditionError("no nodes", hint="add some")

def dies(on_progress):
    os.kill(os.getpid(), signal.SIGKILL)

class Unsendable(Exception):
    def __init__(self, name, number):
        super().__init__(f"{name} {number}")

def fails_oddly(on_progress):
    raise Unsendable("pool", 3)

def exits(on_progress):
    os._exit(3)

shown = []
print(in_processes([waits(0.6), waits(0.0), waits(0.3)], 2, lambda n_ended, running: shown.append((n_ended, running))))
print(max(len(running) for _, running in shown), (1, [0.5, 0.5]) in shown)
for task in (fails, dies):
    begun = time.monotonic()
    try:
        in_processes([waits(60), task], 2, lambda n_ended, running: None)
    except PreconditionError as error:
        print(error, error.hint, time.monotonic() - begun < 30)
for task in (fails_oddly, exits):
    try:
        in_processes([task], 1, lambda n_ended, running: None)
    except RuntimeError as error:
        print(error, ["fails_oddly" in note for note in getattr(error, "__notes__", ())])
"""


def test_results_are_in_order_and_an_error_ends_the_others(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "[0.6, 0.0, 0.3]",
        "2 True",
        "no nodes add some True",
        "a simulation was killed (SIGKILL) if memory is short, pass --jobs 1 True",
        "Unsendable: pool 3 [True]",
        "a simulation's process ended with exit code 3, without a result []",
    ]
