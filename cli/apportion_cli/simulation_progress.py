"""Progress of a long simulation: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from apportion_cli.console import Console

if TYPE_CHECKING:
    from apportion_runtime.sim.cluster import Cluster

_PATIENCE_S, _PERIOD_S = 0.5, 0.1


@contextmanager
def shown_progress(console: Console, simulated: Cluster) -> Iterator[Callable[[float], None] | None]:
    """Yield a callback for the simulated time; the bar appears if a simulation takes more than half a second."""
    if not console.shows_progress():
        yield None
        return
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} workloads, {task.fields[at]}"),
        TimeElapsedColumn(),
        console=Terminal(stderr=True),
        transient=True,
        auto_refresh=False,
    )
    task = bar.add_task("", total=1, at="")
    begun = shown = time.monotonic()

    def on_progress(_: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - begun < _PATIENCE_S or now - shown < _PERIOD_S:
            return
        shown = now
        made = simulated.history.workloads
        over = sum(bool(facts.outcome) for facts in made)
        bar.update(task, completed=over, total=max(1, len(made)), at=simulated.cluster_state.clock.text)
        if not bar.live.is_started:
            bar.start()
        bar.refresh()

    try:
        yield on_progress
    finally:
        bar.stop()
