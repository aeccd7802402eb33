"""`apportion simulate POLICY --scenario FILE`: a policy, or a rendered tree, on the embedded cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion_cli.console import Console, current
from apportion_cli.delivery import deliver
from apportion_cli.errors import CannotError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.manifest_files import files_of
from apportion_cli.options import Output, limits

if TYPE_CHECKING:
    from apportion_runtime.sim.history import History
    from apportion_runtime.sim.scenario import Scenario
    from apportion_runtime.sim.summary import QueueSummary, Summary

FORMATS = ("text", "json", "jsonl")
_ENGINE = "kai"
_TARGETS = (_ENGINE, "native")
_KAI_GROUP = "scheduling.run.ai/"
_OTHERS = {
    "kueue.x-k8s.io/": "Kueue",
    "scheduling.volcano.sh/": "Volcano",
    "scheduling.sigs.k8s.io/": "ElasticQuotaTree and kube-queue",
    "scheduling.koordinator.sh/": "Koordinator",
}
_OWN_GROUP = "apportion.dev/"


def run_scenario(
    source: str,
    scenario_file: str,
    *,
    env: str | None,
    cluster: str | None,
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
    scenario = _scenario(scenario_file)
    objects = _objects(source, env, cluster, as_of)
    if isinstance(objects, int):
        return objects
    simulated = Cluster(objects, scenario, keeps_facts=any(output.format == "jsonl" for output in outputs))
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


def _scenario(file: str) -> Scenario:
    from apportion_runtime.sim.scenario_fields import ScenarioError
    from apportion_runtime.sim.scenario_reading import read_scenario

    folder = Path(file).parent

    def read(name: str) -> list[dict[str, Any]]:
        return list(_documents((folder / name).read_text(encoding="utf-8")))

    try:
        return read_scenario(Path(file).read_text(encoding="utf-8"), read)
    except OSError as refused:
        raise CannotError(f"{file} cannot be read: {refused.strerror}") from refused
    except UnicodeDecodeError:
        raise CannotError(f"{file} is not text in UTF-8") from None
    except ScenarioError as wrong:
        raise CannotError(f"{file}: {wrong}", hint="docs/simulation.md describes a scenario") from None


def _objects(source: str, env: str | None, cluster: str | None, as_of: date) -> list[dict[str, Any]] | int:
    """Return the objects of a rendered tree or a policy; an exit code where the policy has findings."""
    if _is_rendered(source):
        objects = [made for file in files_of(source) for made in _documents(Path(file).read_text(encoding="utf-8"))]
    else:
        found = _compiled(source, env, cluster, as_of)
        if isinstance(found, int):
            return found
        objects = found
    _refuse_other_engines(objects)
    return objects


def _is_rendered(source: str) -> bool:
    """Tell whether a path holds objects of Kubernetes rather than a policy."""
    path = Path(source)
    if path.is_dir():
        inside = (name for _, _, names in os.walk(path) for name in names)
        return any(name in ("inventory.json", "kustomization.yaml") for name in inside)
    if path.suffix not in (".yaml", ".yml", ".json") or not path.is_file():
        return False
    first = next(_documents(path.read_text(encoding="utf-8")), {})
    return bool(first.get("kind")) and not str(first.get("apiVersion")).startswith(_OWN_GROUP)


def _documents(text: str) -> Iterator[dict[str, Any]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = [made for made in yaml.load_all(text, Loader=loader) if made]
    except yaml.YAMLError as wrong:
        raise ValueError(str(wrong).replace("\n", " ")) from None
    for made in found:
        if (
            isinstance(made, dict)
            and str(made.get("kind", "")).endswith("List")
            and isinstance(made.get("items"), list)
        ):
            yield from made["items"]
        elif isinstance(made, dict) and made.get("kind") and isinstance(made.get("metadata"), dict):
            yield made


def _compiled(source: str, env: str | None, cluster: str | None, as_of: date) -> list[dict[str, Any]] | int:
    from apportion_cli.findings import show_findings
    from apportion_cli.inputs import read_policy
    from apportion_compiler.compile import compile_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.errors import UnknownTargetError
    from apportion_compiler.targets import targets_of

    console = current()
    inputs = read_policy(source, limits(None, None))
    if inputs.policy is None:
        return show_findings(console, inputs, inputs.diagnostics, "error")
    try:
        wanted = targets_of(inputs.policy, (env,) if env else (), _TARGETS)
    except UnknownTargetError as unknown:
        raise click.UsageError(str(unknown)) from unknown
    engines = [t for t in wanted if t.backend == _ENGINE and cluster in (None, t.cluster)]
    if not engines:
        raise CannotError(
            "no cluster of the policy runs KAI Scheduler, and other engines have no model here"
            if cluster is None
            else f"no cluster {cluster} of the policy runs KAI Scheduler"
        )
    if len(engines) > 1:
        known = ", ".join(f"{t.environment}/{t.cluster}" for t in engines)
        raise click.UsageError(f"the policy has several clusters; name one with --env and --cluster: {known}")
    one = engines[0]
    own = tuple(t for t in wanted if (t.environment, t.cluster) == (one.environment, one.cluster))
    compilation = compile_policy(inputs.policy, own, as_of)
    if has_errors(compilation.diagnostics):
        return show_findings(console, inputs, compilation.diagnostics, "error")
    return [dict(made) for output in compilation.outputs.values() for made in output.manifests]


def _refuse_other_engines(objects: Sequence[dict[str, Any]]) -> None:
    versions = {str(made.get("apiVersion")) for made in objects}
    if any(version.startswith(_KAI_GROUP) for version in versions):
        return
    for group, engine in _OTHERS.items():
        if any(version.startswith(group) for version in versions):
            raise CannotError(
                f"these objects are of {engine}, whose queueing has no model here; they are not run as another engine's"
            )
    raise CannotError("there is no queue of KAI Scheduler among these objects")


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
