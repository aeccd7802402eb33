"""`apportion advise`: the smallest change of quotas and pool sizes that meets goals under a load."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_api.counted_nouns import counted
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, json_option, limits, output_option, reading_options
from apportion_cli.scopes import cluster_scope, place_options
from apportion_cli.trace_input import trace_options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from apportion_cli.advise_runs import LoadSimulation
    from apportion_cli.inputs import Inputs
    from apportion_cli.trace_input import TraceInput
    from apportion_compiler.compile import CheckResult
    from apportion_compiler.graph.graph import PolicyGraph, Scope
    from apportion_policy.pool import NodePool
    from apportion_policy.source import SourceLocation
    from apportion_review.advise.goals import Goal
    from apportion_review.advise.pools import PoolEdit
    from apportion_review.advise.records import Advice, PoolChange, QuotaChange
    from apportion_review.advise.search import Vector
    from apportion_review.fit.quota_edits import QuotaEdit

_RUNS = 60
_WIDTH = 8
"""Simulations that are chosen at a time, on any number of processors, so that the result is the same on each."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Limits of a search, the queues that it must not change, and the pools that it may enlarge."""

    max_runs: int
    n_processes: int
    seed: int
    kept: tuple[str, ...]
    pools: tuple[NodePool, ...]


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
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of simulations to run in parallel (default: the number of processors).",
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
    jobs: int | None,
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
    options = SearchOptions(max_runs, jobs or os.cpu_count() or 1, seed, kept, enlarged)
    try:
        advice = _advice(simulation, inputs, checked, scope, goals=wanted, options=options)
    except KeyboardInterrupt:
        console.err("apportion: interrupted")
        return ExitCode.INTERRUPTED
    _deliver(advice, outputs)
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


def _advice(
    simulation: LoadSimulation,
    inputs: Inputs,
    checked: CheckResult,
    scope: Scope,
    *,
    goals: tuple[Goal, ...],
    options: SearchOptions,
) -> Advice:
    from apportion_cli.advise_patch import policy_patch
    from apportion_cli.advise_runs import parallel_summaries
    from apportion_review.advise.advise import SearchInputs, advise_quotas
    from apportion_review.advise.pools import PolicyEdits, PoolEdit, searched_pools
    from apportion_review.advise.quotas import named_as_simulated, searched_quotas, simulated_names
    from apportion_review.advise.records import Advice

    console = current()
    graph = checked.graph
    assert graph is not None
    assert scope.name is not None
    first = simulation.run(PolicyEdits())
    if first is None:
        raise PreconditionError("the policy has errors", hint=f"run apportion validate {simulation.source}")
    summary = first.report.summary
    names = simulated_names(checked.programs[scope.name], summary)
    goals = tuple(named_as_simulated(goal, names, summary) for goal in goals)
    known = sorted(each.name for each in summary.queues)
    for goal in goals:
        if goal.queue is not None and goal.queue not in known:
            raise PreconditionError(f"the simulated cluster has no queue {goal.queue}; it has {', '.join(known)}")
    searched = searched_quotas(graph, scope, first.report, names, goals=goals, kept=options.kept)
    pools = searched_pools(options.pools, first.report)

    def edits_of(vector: Vector) -> PolicyEdits:
        sizes = zip(pools, vector[len(searched.quotas) :], strict=True)
        changed = (PoolEdit(pool.pool, size) for pool, size in sizes if size != pool.present)
        return PolicyEdits(searched.edits(vector), tuple(changed))

    if not searched.quotas and not pools:
        raise PreconditionError("; ".join(("no simulated queue has a GPU quota that can be changed", *searched.notes)))
    if not console.quiet:
        sizes = f" and {counted(len(pools), 'pool size')}" if pools else ""
        console.err(
            f"apportion: searching {counted(len(searched.quotas), 'quota')}{sizes} with at most {options.max_runs} simulations"
        )
    with parallel_summaries(simulation, options.n_processes) as summaries:
        found = advise_quotas(
            SearchInputs(
                goals,
                searched,
                pools,
                summary,
                lambda batch: summaries.of(list(map(edits_of, batch))),
                options.max_runs,
                _WIDTH,
                random.Random(options.seed).randrange,  # noqa: S311 - the search must be repeatable
            )
        )
    edits = edits_of(found.found.vector) if found.found.is_met else PolicyEdits()
    patch, unpatched = policy_patch(graph, inputs.sources, edits)
    changes = {edit: _change(graph, inputs, edit) for edit in edits.quotas}
    pool_changes = {edit: _pool_change(graph, inputs, edit) for edit in edits.pools}
    return Advice(
        cluster=simulation.targets[0].scope,
        load=str(simulation.load),
        goals=found.goals,
        changes=tuple(changes.values()),
        pool_changes=tuple(pool_changes.values()),
        columns=(
            *(f"{quota.queue} {quota.field} {quota.resource}" for quota in searched.quotas),
            *(f"{pool.pool} max_nodes" for pool in pools),
        ),
        runs=found.runs,
        patch=patch,
        unpatched=tuple(changes[edit] for edit in unpatched.quotas),
        unpatched_pools=tuple(pool_changes[edit] for edit in unpatched.pools),
        searches_pools=bool(pools),
        notes=searched.notes,
        max_runs=options.max_runs,
    )


def _change(graph: PolicyGraph, inputs: Inputs, edit: QuotaEdit) -> QuotaChange:
    from apportion_policy.quantity import gpu_text
    from apportion_review.advise.records import QuotaChange

    queue = graph.nodes[edit.queue].queue
    before = getattr(graph.base.values[edit.queue], edit.field).get(edit.resource, 0)
    declared = getattr(queue, edit.field)
    place = _place(inputs, (queue if declared is None else declared).source)
    return QuotaChange(edit.queue, edit.field, edit.resource, gpu_text(before), gpu_text(edit.amount), place)


def _pool_change(graph: PolicyGraph, inputs: Inputs, edit: PoolEdit) -> PoolChange:
    from apportion_review.advise.records import PoolChange

    pool = graph.declarations.pools[edit.pool]
    return PoolChange(edit.pool, pool.max_nodes, edit.max_nodes, _place(inputs, pool.source))


def _place(inputs: Inputs, at: SourceLocation) -> str:
    return f"{inputs.sources.near(at.file)}:{at.line}" if at.line else ""
