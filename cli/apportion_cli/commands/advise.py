"""`apportion advise`: the smallest change of quotas and pool sizes that meets goals under a load."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.console import current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, json_option, limits, output_option, reading_options
from apportion_cli.scopes import cluster_scope, place_options
from apportion_cli.trace_input import trace_options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from apportion_cli.trace_input import TraceInput
    from apportion_compiler.graph.graph import PolicyGraph, Scope
    from apportion_policy.pool import NodePool
    from apportion_review.advise.goals import Goal
    from apportion_review.advise.records import Advice

_RUNS = 60


def _duration(_: click.Context, __: click.Parameter, value: str) -> float:
    from apportion_policy.duration import parse_duration

    try:
        return float(parse_duration(value))
    except ValueError:
        raise click.BadParameter(f"`{value}` is not a duration such as 90s, 10m or 2h") from None


@click.command()
@click.option(
    "--goal",
    "goals",
    multiple=True,
    required=True,
    metavar="GOAL",
    help="Goal such as `p90 wait of vision <= 5m`, `evictions of research <= 10` or `lost GPU-hours <= 20`; may be repeated.",
)
@place_options
@click.option("--scenario", metavar="FILE", help="Scenario file with the nodes and workloads to simulate.")
@trace_options
@click.option(
    "--keep", "kept", multiple=True, metavar="QUEUE", help="Do not change this queue's quotas; may be repeated."
)
@click.option(
    "--pool",
    "pools",
    multiple=True,
    metavar="POOL",
    help="If no quotas meet the goals, also vary the size of this node pool; may be repeated.",
)
@click.option("--shard", metavar="NAME", help="SchedulingShard to use; required if the cluster has more than one.")
@click.option(
    "--max-runs",
    type=click.IntRange(min=2),
    default=_RUNS,
    show_default=True,
    metavar="N",
    help="Maximum number of simulations.",
)
@click.option(
    "--max-time",
    callback=_duration,
    default="10m",
    show_default=True,
    metavar="DURATION",
    help="Start no simulation that would probably end later, and print what was found by then.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of simulations to run in parallel (default: the number of processors).",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="First search with one of every N jobs and nodes (default: about 10,000 jobs of a larger load; 1 for the whole load).",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Random seed for the search.")
@output_option("text", "json", "patch")
@json_option
@reading_options
def advise(
    policy: str,
    *,
    goals: tuple[str, ...],
    env: str | None,
    cluster: str | None,
    scenario: str | None,
    trace: TraceInput | None,
    kept: tuple[str, ...],
    pools: tuple[str, ...],
    shard: str | None,
    max_runs: int,
    max_time: float,
    jobs: int | None,
    sample: int | None,
    seed: int,
    outputs: tuple[Output, ...],
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Find the smallest quota change that meets goals for a recorded or described load, and print it as a patch.

    The load is a scenario or a trace, as for `apportion simulate`. The search changes GPU guarantees and limits, and
    simulates each candidate; with --pool, it adds nodes if no quotas suffice. Exit 0 if POLICY meets the goals, 10 if
    a change does, 1 if none was found.

    \b
    apportion advise policy.py --scenario load.yaml \\
      --goal "p90 wait of vision <= 5m" --goal "evictions <= 10"
    apportion advise --scenario load.yaml --goal "evictions <= 2" -o patch
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.advise_runs import LoadSimulation
    from apportion_cli.advise_search import SearchOptions, find_advice
    from apportion_cli.findings import show_findings
    from apportion_cli.fit_inputs import cluster_compiler
    from apportion_cli.inputs import read_policy
    from apportion_compiler.compile import check_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors

    if scenario is None and trace is None:
        raise click.UsageError("pass --scenario FILE or --trace FORMAT:FILE")
    if scenario is not None and Path(scenario).exists() and not Path(scenario).is_file():
        raise click.UsageError(f"--scenario {scenario} must be a regular file, because it is read once per simulation")
    wanted = _goals(goals)
    console = current()
    inputs = read_policy(policy, limits(time_limit, memory_limit))
    if inputs.policy is None:
        return show_findings(console, inputs, inputs.diagnostics, "error")
    checked = check_policy(inputs.policy, as_of)
    if checked.graph is None or has_errors(checked.diagnostics):
        return show_findings(console, inputs, checked.diagnostics, "error")
    scope = cluster_scope(checked.graph, env, cluster)
    unknown = [queue for queue in kept if queue not in checked.graph.nodes]
    if unknown:
        raise click.BadParameter(f"queue {unknown[0]} does not exist", param_hint="--keep")
    load = replace(trace, beside=scenario) if trace is not None else scenario or ""
    targets = cluster_compiler(inputs.policy, scope, as_of=as_of).targets
    enlarged = _pools(checked.graph, scope, pools)
    sizes = {pool.id: pool.max_nodes for pool in enlarged}
    simulation = LoadSimulation(policy, inputs.policy, targets, as_of, load, shard, sizes)
    options = SearchOptions(max_runs, max_time, jobs or os.cpu_count() or 1, seed, sample, kept, enlarged)
    try:
        advice = find_advice(simulation, inputs, checked, scope, goals=wanted, options=options)
    except KeyboardInterrupt:
        console.err("apportion: interrupted")
        return ExitCode.INTERRUPTED
    _deliver(advice, outputs)
    if advice.is_interrupted:
        return ExitCode.INTERRUPTED
    if not advice.is_met:
        return ExitCode.FINDINGS
    return ExitCode.CHANGES if advice.has_changes else ExitCode.OK


def _goals(texts: Sequence[str]) -> tuple[Goal, ...]:
    from apportion_review.advise.goals import parse_goal

    try:
        return tuple(map(parse_goal, texts))
    except ValueError as wrong:
        raise click.BadParameter(str(wrong), param_hint="--goal") from None


def _pools(graph: PolicyGraph, scope: Scope, names: Sequence[str]) -> tuple[NodePool, ...]:
    """Return the pools whose sizes are searched."""
    from apportion_review.advise.pools import gpus_of_node

    pools = graph.declarations.pools if scope.cluster is None else {p.id: p for p in graph.pools_of(scope.cluster)}
    for name in names:
        if name not in pools:
            known = ", ".join(sorted(pools)) or "none"
            raise click.BadParameter(f"the cluster has no node pool {name}; it has {known}", param_hint="--pool")
        if not gpus_of_node(pools[name]):
            raise click.BadParameter(f"the nodes in {name} have no GPUs", param_hint="--pool")
    return tuple(pools[name] for name in dict.fromkeys(names))


def _deliver(advice: Advice, outputs: Sequence[Output]) -> None:
    from apportion_cli.delivery import deliver
    from apportion_review.advise.document import advice_json
    from apportion_review.advise.text import advice_text

    for output in outputs or (Output("text"),):
        match output.format:
            case "json":
                text = advice_json(advice)
            case "patch":
                text = advice.patch
            case _:
                text = advice_text(advice)
        deliver(current(), output, text)
