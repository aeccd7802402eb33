"""`apportion simulate POLICY --scenario FILE`: a policy, or a rendered tree, on the simulated cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion_cli.bounded_text import MAX_BYTES, UnreadableFileError, content_found, text_named_by, text_of
from apportion_cli.console import Console, current
from apportion_cli.delivery import deliver
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.object_files import documents
from apportion_cli.options import Output
from apportion_cli.scenario_objects import ScenarioObjects, one_shard, read_objects

if TYPE_CHECKING:
    from apportion_cli.trace_input import TraceInput
    from apportion_runtime.sim.cluster import Cluster
    from apportion_runtime.sim.history import History
    from apportion_runtime.sim.report.comparison import Comparison
    from apportion_runtime.sim.report.report import Report
    from apportion_runtime.sim.scenario.fields import ScenarioError
    from apportion_runtime.sim.scenario.format import Scenario

_OF_FACTS = ("jsonl", "story")
_MOST_REFUSED = 10


@dataclass(frozen=True, slots=True)
class SimulationTarget:
    """The policy to simulate, with its cluster and engine."""

    source: str
    env: str | None = None
    cluster: str | None = None
    engine: str | None = None
    shard: str | None = None


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of a simulation; `code` is not 0 if it was interrupted, and `findings` is the policy's exit code."""

    report: Report
    history: History
    code: int = ExitCode.OK
    findings: int = ExitCode.OK


def run_scenario(
    choice: SimulationTarget,
    load: str | TraceInput,
    *,
    as_of: date,
    outputs: Sequence[Output],
    against: SimulationTarget | None = None,
    fail_on: str = "error",
) -> int:
    """Simulate, write the reports, and return the exit code; with `against`, compare with another result.

    A finding of severity `fail_on` in a policy gives exit code 1 after the reports.

    Raises:
        PreconditionError: If a file cannot be read, or the engine is not simulated.
    """
    from apportion_runtime.sim.report.comparison import compare

    console = current()
    wanted = outputs or (Output("text"),)
    keeps_facts = any(output.format in _OF_FACTS for output in wanted)
    found = simulate(choice, load, as_of=as_of, keeps_facts=keeps_facts, fail_on=fail_on)
    if isinstance(found, int):
        return found
    if against is None or found.code != ExitCode.OK:
        for output in wanted:
            deliver(console, output, _rendered(found, output))
        return found.code or found.findings
    other = simulate(against, load, as_of=as_of, keeps_facts=False, fail_on=fail_on)
    if isinstance(other, int):
        return other
    comparison = compare(other.report, found.report)
    for output in wanted:
        deliver(console, output, _compared(comparison, output))
    return other.code or found.findings or other.findings


def simulate(
    choice: SimulationTarget, load: str | TraceInput, *, as_of: date, keeps_facts: bool, fail_on: str = "error"
) -> SimulationResult | int:
    """Run a scenario or a trace to its end or until it is interrupted.

    Returns an exit code if the policy has errors; its other findings are printed.

    Raises:
        PreconditionError: If a file cannot be read, or the engine is not simulated.
    """
    found = read_objects(
        choice.source, env=choice.env, cluster=choice.cluster, engine=choice.engine, as_of=as_of, fail_on=fail_on
    )
    return found if isinstance(found, int) else simulate_objects(choice, found, load, keeps_facts=keeps_facts)


def simulate_objects(
    choice: SimulationTarget, found: ScenarioObjects, load: str | TraceInput, *, keeps_facts: bool
) -> SimulationResult:
    """Run a scenario or a trace on the objects of one cluster to its end or until it is interrupted.

    Raises:
        PreconditionError: If the load cannot be read, or the engine rejects its configuration.
    """
    from apportion_runtime.sim.report.report import Inputs, build_report

    scenario = read_load(load, found)
    history, code = simulated_history(choice, found, load, scenario, keeps_facts=keeps_facts)
    if not isinstance(load, str):
        load.show_packing(history.stays)
    objects = one_shard(found.objects, choice.shard, choice.source)
    inputs = Inputs(
        policy=choice.source,
        environment=found.environment,
        cluster=found.cluster,
        engine=found.model.name,
        digest=hashlib.sha256(json.dumps(objects, sort_keys=True).encode()).hexdigest(),
        scenario=load if isinstance(load, str) else ", ".join(load.files),
    )
    return SimulationResult(build_report(history, scenario.name, scenario.start, inputs), history, code, found.code)


def simulated_history(
    choice: SimulationTarget,
    found: ScenarioObjects,
    load: str | TraceInput,
    scenario: Scenario,
    *,
    keeps_facts: bool = False,
    on_event: Callable[[Cluster], None] | None = None,
) -> tuple[History, int]:
    """Return the history of a load on the objects of one cluster, and the exit code, which shows an interruption.

    Args:
        choice: The policy and its cluster.
        found: The objects of the cluster.
        load: The scenario or the trace, for messages.
        scenario: What `read_load` returned for it.
        keeps_facts: Whether every fact is kept, or only those that reports use.
        on_event: Called after each event, instead of showing the progress.

    Raises:
        PreconditionError: If the engine rejects its configuration, or the load.
    """
    from apportion_cli.machine_labels import with_flavor_labels
    from apportion_compiler.engine_rules.configuration import configuration_refusal, quota_faults
    from apportion_compiler.engine_rules.pod_admission import admit
    from apportion_runtime.sim.api.object_store import Unnamed
    from apportion_runtime.sim.cluster import Cluster
    from apportion_runtime.sim.engine import UnreadableError
    from apportion_runtime.sim.scenario.fields import ScenarioError
    from apportion_runtime.snapshots.source_lines import line_of

    console = current()
    objects = one_shard(found.objects, choice.shard, choice.source)
    if why := configuration_refusal(found.model.name, objects):
        raise PreconditionError(f"{choice.source}: {found.model.title} rejects its configuration: {why}")
    refusal, quota_warnings = quota_faults(found.model.name, found.model.title, objects)
    if refusal:
        raise PreconditionError(f"{choice.source}: {refusal}")
    try:
        simulated = Cluster(
            objects,
            with_flavor_labels(scenario, found.objects),
            found.model,
            keeps_facts=keeps_facts,
            admit=partial(admit, found.model.name),
        )
    except (UnreadableError, Unnamed) as wrong:
        raise PreconditionError(f"{choice.source}: {wrong}") from None
    except ScenarioError as wrong:
        file = load if isinstance(load, str) else load.beside or ""
        line = line_of(_reread_text(file), wrong.path) if file else None
        raise _unreadable(file or str(load), wrong, line) from None
    _show_faults(console, simulated)
    _show_first(console, quota_warnings, "more faults of quotas")
    code = _run(console, simulated, on_event)
    history = simulated.finish()
    _show_refused(console, history)
    _show_first(console, (f"event at {missed}" for missed in history.missed_events), "more events matched no object")
    return history, code


def _run(console: Console, simulated: Cluster, on_event: Callable[[Cluster], None] | None) -> int:
    from apportion_cli.simulation_progress import shown_progress

    try:
        if on_event is not None:
            simulated.run(lambda _: on_event(simulated))
            return ExitCode.OK
        with shown_progress(console, simulated) as on_progress:
            simulated.run(on_progress)
    except KeyboardInterrupt:
        at = simulated.cluster_state.clock.text
        console.err(f"apportion: interrupted at simulated time {at}; the results are partial")
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _show_faults(console: Console, simulated: Cluster) -> None:
    if not simulated.scenario.pools and not simulated.cluster_state.store.list("Node"):
        console.err(
            "apportion: warning: the cluster has no nodes, so nothing can run: list `nodes` in a scenario (--scenario FILE)"
        )
    for fault in simulated.cluster_state.records.faults:
        console.err(f"apportion: warning: {fault.address}: {fault.message}")


def _show_first(console: Console, warnings: Iterable[str], further: str) -> None:
    """Print the first warnings, and the number of others."""
    found = list(warnings)
    for warning in found[:_MOST_REFUSED]:
        console.err(f"apportion: warning: {warning}")
    if len(found) > _MOST_REFUSED:
        console.err(f"apportion: warning: {len(found) - _MOST_REFUSED} {further}")


def _show_refused(console: Console, history: History) -> None:
    """Print the reasons why workloads were rejected, for the first of them."""
    from apportion_runtime.sim.controllers.workloads import REFUSED

    refused = [facts for facts in history.workloads if facts.outcome == REFUSED]
    for facts in refused[:_MOST_REFUSED]:
        console.err(
            f"apportion: warning: {facts.kind} {facts.namespace}/{facts.name} was rejected: {facts.why_waiting}"
        )
    if len(refused) > _MOST_REFUSED:
        console.err(
            f"apportion: warning: {len(refused) - _MOST_REFUSED} more workloads were rejected; see -o jsonl for the reasons"
        )


def read_load(load: str | TraceInput, objects: ScenarioObjects) -> Scenario:
    """Return the scenario of a load on the objects of one cluster. Raises `PreconditionError` if it cannot be read."""
    if isinstance(load, str):
        return _read(load, objects)
    beside = None if load.beside is None else _read(load.beside, objects)
    return load.onto(beside, objects.model.workload_labels)


def _read(file: str, objects: ScenarioObjects) -> Scenario:
    from apportion_runtime.sim.scenario.fields import ScenarioError
    from apportion_runtime.sim.scenario.pool_sizes import with_added_nodes
    from apportion_runtime.sim.scenario.reader import read_scenario
    from apportion_runtime.snapshots.unique_keys import check_unique_keys

    folder = Path(file).parent

    def read(name: str) -> list[dict[str, Any]]:
        text = text_named_by(folder, name)
        found = list(documents(text))
        check_unique_keys(text)
        return found

    try:
        made = read_scenario(text_of(file), read, objects.model.workload_labels, objects.nodes)
        return with_added_nodes(made, objects.added_nodes)
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from refused
    except UnreadableFileError as wrong:
        raise PreconditionError(f"{file} cannot be read: {wrong}") from None
    except ScenarioError as wrong:
        raise _unreadable(file, wrong, wrong.line) from None


def _reread_text(file: str) -> str:
    """Return the text of a scenario that was read before; empty for a pipe or a deleted file."""
    try:
        return content_found(file, MAX_BYTES).decode("utf-8")
    except (OSError, ValueError):
        return ""


def _unreadable(file: str, wrong: ScenarioError, line: int | None) -> PreconditionError:
    place = file if line is None else f"{file}:{line}"
    return PreconditionError(f"{place}: {wrong}", hint="see docs/simulation.md for the scenario format")


def _rendered(found: SimulationResult, output: Output) -> str:
    report = found.report
    match output.format:
        case "jsonl":
            return "".join(json.dumps(fact.document()) + "\n" for fact in found.history.facts)
        case "json":
            return json.dumps(report.document(), indent=2) + "\n"
        case "html":
            from apportion_runtime.sim.report.page import html_page

            return html_page(report)
        case "story":
            from apportion_runtime.sim.report.story import story

            return "\n".join(story(found.history)) + "\n"
        case _:
            from apportion_cli.simulation_text import report_text

            return report_text(report)


def _compared(comparison: Comparison, output: Output) -> str:
    if output.format == "json":
        return json.dumps(comparison.document(), indent=2) + "\n"
    if output.format == "html":
        from apportion_runtime.sim.report.comparison_page import comparison_page

        return comparison_page(comparison)
    from apportion_cli.simulation_text import comparison_text

    return comparison_text(comparison)
