"""`apportion simulate POLICY --scenario FILE`: a policy, or a rendered tree, on the embedded cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion_cli.console import Console, current
from apportion_cli.delivery import deliver
from apportion_cli.errors import CannotError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output
from apportion_cli.scenario_objects import documents, read_objects

if TYPE_CHECKING:
    from apportion_runtime.sim.dialect import Dialect
    from apportion_runtime.sim.history import History
    from apportion_runtime.sim.scenario import Scenario
    from apportion_runtime.sim.summary import QueueSummary, Summary

FORMATS = ("text", "json", "jsonl")


def run_scenario(
    source: str,
    scenario_file: str,
    *,
    env: str | None,
    cluster: str | None,
    engine: str | None,
    as_of: date,
    outputs: Sequence[Output],
) -> int:
    """Simulate, deliver the reports, and return the exit code.

    Raises:
        CannotError: If something cannot be read, or the engine has no model here.
    """
    from apportion_runtime.sim.cluster import Cluster
    from apportion_runtime.sim.summary import summarise

    console = current()
    found = read_objects(source, env=env, cluster=cluster, engine=engine, as_of=as_of)
    if isinstance(found, int):
        return found
    scenario = _scenario(scenario_file, found.model.dialect)
    keeps_facts = any(output.format == "jsonl" for output in outputs)
    simulated = Cluster(found.objects, scenario, found.model, keeps_facts=keeps_facts)
    _show_faults(console, simulated)
    code = _run(console, simulated)
    history = simulated.finish()
    summary = summarise(history)
    for output in outputs or (Output("text"),):
        deliver(console, output, _rendered(summary, history, scenario, output))
    return code


def _run(console: Console, simulated: Any) -> int:
    try:
        simulated.run()
    except KeyboardInterrupt:
        at = simulated.world.clock.text
        console.err(f"apportion: interrupted at {at} of the simulation; what follows is up to then")
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _show_faults(console: Console, simulated: Any) -> None:
    for fault in simulated.world.records.faults:
        console.err(f"apportion: warning: {fault.address}: {fault.message}")


def _scenario(file: str, dialect: Dialect) -> Scenario:
    from apportion_runtime.sim.scenario_fields import ScenarioError
    from apportion_runtime.sim.scenario_reading import read_scenario

    folder = Path(file).parent

    def read(name: str) -> list[dict[str, Any]]:
        return list(documents((folder / name).read_text(encoding="utf-8")))

    try:
        return read_scenario(Path(file).read_text(encoding="utf-8"), read, dialect)
    except OSError as refused:
        raise CannotError(f"{file} cannot be read: {refused.strerror}") from refused
    except UnicodeDecodeError:
        raise CannotError(f"{file} is not text in UTF-8") from None
    except ScenarioError as wrong:
        raise CannotError(f"{file}: {wrong}", hint="docs/simulation.md describes a scenario") from None


def _rendered(summary: Summary, history: History, scenario: Scenario, output: Output) -> str:
    if output.format == "jsonl":
        return "".join(json.dumps(fact.document()) + "\n" for fact in history.facts)
    if output.format == "json":
        return json.dumps(summary.document(), indent=2) + "\n"
    return summary_text(summary, scenario.name)


def summary_text(summary: Summary, name: str) -> str:
    """Return the summary for a terminal."""
    ended = ", ".join(f"{count} {outcome}" for outcome, count in summary.outcomes.items())
    lost = f"{_count(summary.n_evictions, 'eviction')}, {summary.lost_gpu_hours:,.1f} GPU-hours lost"
    lines = [
        f"{name or 'simulation'}: {_lasting(summary.duration_s)}, {summary.n_workloads} workloads ({ended})",
        f"GPU-hours {summary.gpu_hours:,.1f} of {summary.capacity_gpu_hours:,.1f} ({summary.utilisation:.0%})",
        f"makespan {_lasting(summary.makespan_s)}, {lost}",
        "",
    ]
    header = ("queue", "GPU-hours", "fair share", "used", "wait p50", "p90", "p99", "waiting", "evicted", "lost GPU-h")
    rows = [header, *(_row(queue, depth) for queue, depth in _in_tree(summary.queues))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _row(queue: QueueSummary, depth: int) -> tuple[str, ...]:
    waits = (queue.wait_p50_s, queue.wait_p90_s, queue.wait_p99_s)
    return (
        "  " * depth + queue.name,
        f"{queue.gpu_hours:,.1f}",
        f"{queue.fair_gpu_hours:,.1f}",
        "" if queue.share is None else f"{queue.share:.0%}",
        *("" if wait is None else _lasting(wait) for wait in waits),
        str(queue.n_waiting or ""),
        str(queue.n_evictions or ""),
        f"{queue.lost_gpu_hours:,.1f}" if queue.lost_gpu_hours else "",
    )


def _in_tree(queues: Sequence[QueueSummary]) -> Iterator[tuple[QueueSummary, int]]:
    below: dict[str | None, list[QueueSummary]] = {}
    names = {queue.name for queue in queues}
    for queue in queues:
        below.setdefault(queue.parent if queue.parent in names else None, []).append(queue)

    def walk(parent: str | None, depth: int) -> Iterator[tuple[QueueSummary, int]]:
        for queue in sorted(below.get(parent, ()), key=lambda q: q.name):
            yield queue, depth
            yield from walk(queue.name, depth + 1)

    yield from walk(None, 0)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _lasting(seconds: float) -> str:
    """Return a duration as people say it: `45s`, `12m`, `3h 20m`, `2d 4h`."""
    for size, unit, smaller, small in ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            rest = int(seconds % size // smaller)
            return f"{int(seconds // size)}{unit}" + (f" {rest}{small}" if rest else "")
    return f"{seconds:.0f}s"
