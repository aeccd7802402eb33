"""`apportion simulate --trace`: a trace as the scenario, unchanged or denser; docs/traces.md describes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from apportion_api.counted_nouns import counted
from apportion_cli.bounded_text import UnreadableFileError, text_of
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.trace_formats import FORMATS, format_and_files, usages
from apportion_cli.trace_names import TraceNames, UsedNames

if TYPE_CHECKING:
    from apportion_runtime.sim.history import PodStay
    from apportion_runtime.sim.scenario.format import Scenario
    from apportion_runtime.sim.scenario.workload_labels import WorkloadLabels
    from apportion_runtime.sim.traces.records import Source, Trace

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_EVERY_S = 1.0
"""Interval between arrivals of an inflated trace, and the time after which a pending job is deleted."""
_MOST_SKIPPED = 3
"""Valid rows that are shown with the reason why they are skipped."""
_ALLOCATE_ONLY = {
    "apiVersion": "v1",
    "kind": "EngineConfiguration",
    "metadata": {"name": "none-leaves"},
    "config": {"actions": "allocate"},
}
"""In an inflated trace, jobs never leave, so evictions must be disabled, which only KAI Scheduler's objects support."""


@dataclass(frozen=True, slots=True)
class TraceInput:
    """The values of `--trace` and its related options.

    Attributes:
        form: The name of its format.
        files: The files, in the order of the format.
        nodes: Fraction of the recorded nodes.
        load: Average fraction of the GPUs that jobs request, to which the intervals between arrivals are scaled.
        inflate: Fraction of the GPUs that jobs finally request, if they are submitted repeatedly and never end.
        seed: Seed of the selection of nodes, and of the order of inflated jobs.
        until_s: End of the simulation, regardless of running jobs.
        names: Queues, priority classes and GPU models.
        skips_faults: Whether to skip invalid rows, each with a warning.
        beside: File of a scenario with additional nodes, workloads and events.
        run: The trace that was run, afterwards.
    """

    form: str
    files: tuple[str, ...]
    nodes: float | None = None
    load: float | None = None
    inflate: float | None = None
    seed: int | None = None
    until_s: float | None = None
    names: TraceNames = field(default_factory=TraceNames)
    skips_faults: bool = False
    beside: str | None = None
    run: list[Trace] = field(default_factory=list)

    def __str__(self) -> str:
        return f"--trace {self.form}:{','.join(self.files)}"

    def onto(self, scenario: Scenario | None, workload_labels: WorkloadLabels) -> Scenario:
        """Return the trace as a scenario, with the nodes, workloads and events of an additional one.

        Raises:
            PreconditionError: If a file cannot be read, or the trace cannot be transformed as requested.
        """
        from apportion_runtime.sim.traces.density import with_density_resources
        from apportion_runtime.sim.traces.records import TraceError
        from apportion_runtime.sim.traces.scenario import scenario_of

        try:
            trace = self._transformed(self._read())
            self.run[:] = [trace]
            made = scenario_of(trace, patience_s=_EVERY_S if self.inflate else None, workload_labels=workload_labels)
        except TraceError as wrong:
            raise PreconditionError(str(wrong)) from None
        except ValueError as wrong:
            raise PreconditionError(f"{self}: {wrong}") from None
        if self.inflate is not None:
            made = replace(made, objects=(*made.objects, _ALLOCATE_ONLY))
        made = replace(made, until_s=self.until_s)
        combined = made if scenario is None else _combined(scenario, trace, made)
        return combined if workload_labels.spreads_pods else with_density_resources(combined, trace.jobs)

    def show_packing(self, stays: Sequence[PodStay]) -> None:
        """Print how full an inflated trace made the cluster, compared with simple placement rules."""
        from apportion_runtime.sim.traces.packing_bound import Rule, pack, packed

        if self.inflate is None or self.beside is not None:
            return
        (trace,) = self.run
        rows = [("this policy", packed(trace, stays))]
        rows += [(rule.value, pack(trace, rule, seed=self.seed or 0)) for rule in Rule]
        for name, made in rows:
            current().err(
                f"apportion: {name:12} {made.allocated:6.1%} of the GPUs allocated, {made.n_placed:,} of "
                f"{counted(made.n_jobs, 'job')} placed; {made.fragmentation:6.1%} of the free GPUs are too fragmented for any job"
            )

    def _read(self) -> Trace:
        sources = [_source(file) for file in self.files]
        trace = FORMATS[self.form].read(sources, self.names)
        self._show(trace)
        for option, name in self.names.unused():
            current().err(f"apportion: warning: {option} {name}=… has no effect: no job in the trace uses this name")
        return trace

    def _show(self, trace: Trace) -> None:
        console = current()
        faults = trace.faults
        if faults and not self.skips_faults:
            more = f" ({counted(len(faults) - 1, 'more row is', 'more rows are')} invalid)" if len(faults) > 1 else ""
            raise PreconditionError(f"{faults[0].text}{more}", hint="pass --trace-skip-faults to skip invalid rows")
        for fault in faults:
            console.err(f"apportion: warning: {fault.text}; skipped")
        for warning in trace.warnings:
            console.err(f"apportion: warning: {warning}")
        if console.quiet:
            return
        valid = [skip for skip in trace.skips if not skip.cure]
        for skip in valid[:_MOST_SKIPPED]:
            console.err(f"apportion: skipped: {skip.text}")
        if len(valid) > _MOST_SKIPPED:
            console.err(f"apportion: skipped: {counted(len(valid) - _MOST_SKIPPED, 'more valid row')}")
        console.err(
            f"apportion: {counted(trace.n_rows, 'row')}: {counted(len(trace.nodes), 'node')}, {counted(len(trace.jobs), 'job')}, "
            f"{len(trace.skips):,} skipped; queues {', '.join(trace.queues)}"
        )

    def _transformed(self, trace: Trace) -> Trace:
        from apportion_runtime.sim.traces.transforms import (
            compressed_in_time,
            compressed_on_nodes,
            inflated,
            offered_load,
            peak_load,
        )

        console = current()
        if not trace.nodes:
            self._refuse_options_of_nodes()
        if self.nodes is not None:
            trace = compressed_on_nodes(trace, self.nodes, seed=self.seed or 0)
        if self.load is not None:
            trace = compressed_in_time(trace, self.load)
        if self.inflate is not None:
            trace = inflated(trace, load=self.inflate, every_s=_EVERY_S, seed=self.seed)
            if not console.quiet:
                console.err(f"apportion: inflated to {counted(len(trace.jobs), 'job')}")
        elif trace.nodes and not console.quiet:
            console.err(
                f"apportion: {counted(len(trace.nodes), 'node')}, the offered load averages {offered_load(trace):.1%} of "
                f"the GPUs and peaks at {peak_load(trace):.1%}"
            )
        return trace

    def _refuse_options_of_nodes(self) -> None:
        given = {"--trace-nodes": self.nodes, "--trace-load": self.load, "--trace-inflate": self.inflate}
        option = next((option for option, value in given.items() if value is not None), None)
        if option is not None:
            raise PreconditionError(
                f"{option} applies to the nodes in a trace, but there are none in {', '.join(self.files)}",
                hint=f"omit {option}, and set the number of nodes in the scenario",
            )


def _combined(scenario: Scenario, trace: Trace, made: Scenario) -> Scenario:
    """Return a scenario with the nodes and workloads that were made of a trace."""
    return replace(
        scenario,
        name=scenario.name or made.name,
        start=scenario.start if trace.start is None else made.start,
        until_s=scenario.until_s if made.until_s is None else made.until_s,
        objects=(*scenario.objects, *made.objects),
        works=(*scenario.works, *made.works),
        incidents=(*scenario.incidents, *made.incidents),
    )


def _source(file: str) -> Source:
    from apportion_runtime.sim.traces.records import Source

    try:
        return Source(file, text_of(file))
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from None
    except UnreadableFileError as wrong:
        raise PreconditionError(f"{file} cannot be read: {wrong}") from None


def trace_options(command: Decorated) -> Decorated:
    """Add `--trace` and its related options, which the command receives as one argument `trace`."""

    @wraps(command)
    def with_trace(
        *args: Any,
        trace: str | None,
        trace_nodes: float | None,
        trace_load: float | None,
        trace_inflate: float | None,
        trace_seed: int | None,
        trace_until: float | None,
        trace_queues: tuple[tuple[str, str], ...],
        trace_priorities: tuple[tuple[str, str], ...],
        trace_models: tuple[tuple[str, str], ...],
        trace_skip_faults: bool,
        **options: Any,
    ) -> Any:
        given = (trace_nodes, trace_load, trace_inflate, trace_seed, trace_until)
        if trace is None:
            named = trace_queues or trace_priorities or trace_models
            if any(value is not None for value in given) or named or trace_skip_faults:
                raise click.UsageError("--trace-… options require --trace FORMAT:FILE")
            return command(*args, trace=None, **options)
        if trace_inflate is not None and trace_load is not None:
            raise click.UsageError(
                "--trace-inflate fills the cluster job by job, and --trace-load fills it over time; pass only one of them"
            )
        form, files = format_and_files(trace)
        if trace_models and not FORMATS[form].has_gpu_types:
            raise click.UsageError(f"{form} has no GPU types to map; omit --trace-gpu-model")
        for option, pairs in (("--trace-queue", trace_queues), ("--trace-priority", trace_priorities)):
            twice = next((name for name, n_times in Counter(name for name, _ in pairs).items() if n_times > 1), None)
            if twice is not None:
                raise click.UsageError(f"{option} maps {twice} more than once; pass one value")
        models = {kind: tuple(model for name, model in trace_models if name == kind) for kind, _ in trace_models}
        names = TraceNames(UsedNames(dict(trace_queues)), UsedNames(dict(trace_priorities)), UsedNames(models))
        return command(
            *args,
            trace=TraceInput(
                form, files, trace_nodes, trace_load, trace_inflate, trace_seed, trace_until,
                names, trace_skip_faults,
            ),
            **options,
        )  # fmt: skip

    for option in reversed(_OPTIONS):
        with_trace = option(with_trace)
    return cast("Decorated", with_trace)


def _pair(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for value in values:
        name, equals, of = value.partition("=")
        if not (name and equals and of):
            raise click.BadParameter(f"`{value}` is not of the form NAME=VALUE")
        pairs.append((name, of))
    return tuple(pairs)


def _duration(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    from apportion_runtime.sim.scenario.fields import Fields, ScenarioError

    if value is None:
        return None
    try:
        return Fields({"until": float(value) if value.isdecimal() else value}, "").seconds("until")
    except ScenarioError:
        raise click.BadParameter(f"`{value}` is not a duration such as 90s, 1h30m or 2d") from None


_SHARE = click.FloatRange(min=0.0, max=1.0, min_open=True)
_LOAD = click.FloatRange(min=0.0, min_open=True)
_OPTIONS = (
    click.option(
        "--trace",
        metavar="FORMAT:FILE",
        help=f"Replay a recorded trace: {usages()} (see docs/traces.md).",
    ),
    click.option(
        "--trace-nodes", type=_SHARE, metavar="FRACTION", help="Fraction of the recorded nodes to keep, such as 0.01."
    ),
    click.option(
        "--trace-load",
        type=_LOAD,
        metavar="FRACTION",
        help="Scale arrival times so that jobs request this fraction of the GPUs on average.",
    ),
    click.option(
        "--trace-inflate",
        type=_LOAD,
        metavar="FRACTION",
        help="Submit jobs one at a time, repeating the trace, until they request this fraction of the GPUs; jobs never complete.",
    ),
    click.option(
        "--trace-seed",
        type=int,
        metavar="N",
        help="Random seed for choosing nodes and, with --trace-inflate, for ordering jobs.",
    ),
    click.option(
        "--trace-until",
        callback=_duration,
        metavar="DURATION",
        help="Stop after this duration, such as 2d, even if jobs are still running.",
    ),
    click.option(
        "--trace-queue",
        "trace_queues",
        multiple=True,
        callback=_pair,
        metavar="NAME=QUEUE",
        help="Queue for a QoS class, account, role, user, virtual cluster or queue in the trace; may be repeated.",
    ),
    click.option(
        "--trace-priority",
        "trace_priorities",
        multiple=True,
        callback=_pair,
        metavar="NAME=CLASS",
        help="Priority class for a QoS, role, user, virtual cluster or priority class in the trace; may be repeated.",
    ),
    click.option(
        "--trace-gpu-model",
        "trace_models",
        multiple=True,
        callback=_pair,
        metavar="TYPE=MODEL",
        help="Node GPU model to use for a GPU type in the trace; may be repeated. Other jobs accept any GPU.",
    ),
    click.option("--trace-skip-faults", is_flag=True, help="Skip invalid rows, with a warning for each."),
)
