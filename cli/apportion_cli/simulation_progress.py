"""Progress of long simulations: a bar on a terminal; elsewhere nothing, or a line now and then if there are many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from apportion_api.counted_nouns import counted
from apportion_cli.console import Console
from apportion_policy.duration import duration_text

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from apportion_runtime.sim.cluster import Cluster

_PATIENCE_S, _PERIOD_S = 0.5, 0.1
_LINE_PERIOD_S = 30.0


@contextmanager
def shown_progress(console: Console, simulated: Cluster) -> Iterator[Callable[[float], None] | None]:
    """Yield a callback for the simulated time; the bar appears if a simulation takes more than half a second."""
    if not console.shows_progress():
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    def fields() -> dict[str, Any]:
        made = simulated.history.workloads
        over = sum(bool(facts.outcome) for facts in made)
        return {"completed": over, "total": max(1, len(made)), "at": simulated.cluster_state.clock.text}

    columns = (
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} workloads, {task.fields[at]}"),
        TimeElapsedColumn(),
    )
    with _bar(*columns, at="") as update:
        yield lambda _: update(fields)


@contextmanager
def shown_simulations(console: Console, n_most: int) -> Iterator[Callable[[int, Sequence[float]], None]]:
    """Yield a callback for the number of simulations that have ended, and the progress of those that run."""
    if not console.shows_progress():
        begun = shown = time.monotonic()

        def print_line(n_ended: int, running: Sequence[float]) -> None:
            nonlocal shown
            now = time.monotonic()
            if not console.quiet and now - shown >= _LINE_PERIOD_S:
                shown = now
                console.err(f"apportion: {_state(n_ended, n_most, running)} after {duration_text(round(now - begun))}")

        yield print_line
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _bar(SpinnerColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn(), state="") as update:
        yield lambda n_ended, running: update(lambda: {"state": _state(n_ended, n_most, running)})


@contextmanager
def _bar(*columns: ProgressColumn, **first: Any) -> Iterator[Callable[[Callable[[], Mapping[str, Any]]], None]]:
    """Yield a function that computes and shows the fields of a bar, at most ten times a second and after half a second."""
    from rich.console import Console as Terminal
    from rich.progress import Progress

    bar = Progress(*columns, console=Terminal(stderr=True), transient=True, auto_refresh=False)
    task = bar.add_task("", total=1, **first)
    begun = shown = time.monotonic()

    def update(fields: Callable[[], Mapping[str, Any]]) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begun < _PATIENCE_S or now - shown < _PERIOD_S:
            return
        shown = now
        bar.update(task, **fields())
        if not bar.live.is_started:
            bar.start()
        bar.refresh()

    try:
        yield update
    finally:
        bar.stop()


def _state(n_ended: int, n_most: int, running: Sequence[float]) -> str:
    """Return `4 of at most 60 simulations, 2 running (31%, 64%)`."""
    parts = ", ".join(f"{fraction:.0%}" for fraction in running)
    more = f", {len(running)} running ({parts})" if running else ""
    return f"{n_ended} of at most {counted(n_most, 'simulation')}{more}"
