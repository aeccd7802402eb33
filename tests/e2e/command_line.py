"""`apportion` run in this process, for tests of its output.

What a process of its own costs, a second of imports per command, is minutes over all tests. Policies are evaluated in
a child process as always. Tests of the process itself start one: the stacks of Pulumi and the live scheduler.
"""

from __future__ import annotations

import contextlib
import gc
import io
from pathlib import Path

from apportion_cli.main import main

REPOSITORY = Path(__file__).parents[2]


def apportion(*arguments: str | Path) -> str:
    """Run a command in the root of the repository, and return its output; it must exit with code 0."""
    out, said = io.StringIO(), io.StringIO()
    try:
        with contextlib.chdir(REPOSITORY), contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            code = main([str(argument) for argument in arguments])
    finally:
        # The command line turns the collector off.
        gc.enable()
    assert code == 0, out.getvalue() + said.getvalue()
    return out.getvalue()
