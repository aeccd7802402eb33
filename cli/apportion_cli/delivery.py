"""Output of a report: standard output, or the file in `-o FORMAT=FILE`."""

from __future__ import annotations

from pathlib import Path

from apportion_cli.console import Console, escaped
from apportion_cli.errors import PreconditionError
from apportion_cli.options import Output
from apportion_compiler.emit.output_folder import LinkedPathError, write_file


def deliver(console: Console, output: Output, text: str) -> None:
    """Print a report or write it to its file. Raises `PreconditionError` if the file cannot be written."""
    if output.file is None:
        console.out(text, output.format)
        return
    try:
        write_file(Path(output.file), escaped(text, output.format).encode())
    except LinkedPathError as linked:
        raise PreconditionError(str(linked), hint="choose a different file") from None
    except OSError as refused:
        raise PreconditionError(f"{output.file} cannot be written: {refused.strerror}") from refused
