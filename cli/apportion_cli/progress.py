"""Progress of a long update: a bar on a terminal, otherwise the engine's output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from apportion_cli.console import Console, escaped


@contextmanager
def progress(console: Console, n_objects: int) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """Yield a callback for output lines of the engine, and one for completed objects.

    On a terminal, lines are shown only with `--verbose`; with `--quiet`, nothing is shown.
    """
    if not console.shows_progress():
        yield (_drop if console.quiet else console.err), _nothing
        return
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    terminal = Terminal(stderr=True)
    with Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=terminal, transient=True) as bar:
        task = bar.add_task("", total=max(n_objects, 1))

        def say(text: str) -> None:
            if console.verbose:
                terminal.print(escaped(text), highlight=False, markup=False)

        yield say, lambda: bar.advance(task)


def _drop(text: str) -> None:
    """Discard the line."""


def _nothing() -> None:
    """Ignore the object."""
