"""Crash reports: one line for the user, and a file for the developers."""

from __future__ import annotations

import os
import platform
import tempfile
import traceback
from collections.abc import Sequence

from apportion_cli.console import Console
from apportion_cli.exit_codes import ExitCode


def report_crash(fault: Exception, arguments: Sequence[str], *, debug: bool) -> int:
    """Print the error, with its traceback if requested, and write a report. Return the exit code."""
    console = Console()
    trace = "".join(traceback.format_exception(fault))
    if debug:
        console.err(trace)
    first = str(fault).strip().partition("\n")[0]
    console.err(f"apportion: internal error: {type(fault).__name__}{': ' if first else ''}{first}")
    try:
        path = _write_report(trace, arguments)
    except OSError:
        console.err("  this is a bug in apportion; run it again with --debug for the traceback")
    else:
        console.err(f"  this is a bug in apportion; the report was written to {path}")
    return ExitCode.INTERNAL


def _write_report(trace: str, arguments: Sequence[str]) -> str:
    from apportion_cli.commands.version import version_text

    descriptor, path = tempfile.mkstemp(prefix="apportion-report-", suffix=".txt", text=True)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(
            f"apportion {version_text()}\n"
            f"Python {platform.python_version()} on {platform.platform()}\n"
            f"arguments: {' '.join(arguments)}\n\n{trace}"
        )
    return path
