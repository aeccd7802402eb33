"""The search of `apportion advise`: from the options and the policy to the advice."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from apportion_api.counted_nouns import counted
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apportion_cli.advise_runs import LoadSimulation
    from apportion_cli.inputs import Inputs
    from apportion_compiler.compile import CheckResult
    from apportion_compiler.graph.graph import Scope
    from apportion_compiler.ir.program import Program
    from apportion_policy.pool import NodePool
    from apportion_policy.source import SourceLocation
    from apportion_review.advise.advise import EndedEarly
    from apportion_review.advise.goals import Goal
    from apportion_review.advise.pools import PoolEdit
    from apportion_review.advise.problem import Vector
    from apportion_review.advise.records import Advice, PoolChange, QuotaChange
    from apportion_review.fit.quota_edits import QuotaEdit
    from apportion_runtime.sim.report.summary import Summary
    from apportion_runtime.sim.scenario.format import Scenario

_WIDTH = 8
"""Simulations that are chosen at a time, on any number of processors, so that the result is the same on each."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Limits of a search, the queues that it must not change, and the pools that it may enlarge."""

    max_runs: int
    max_time_s: float
    n_processes: int
    seed: int
    sample: int | None
    kept: tuple[str, ...]
    pools: tuple[NodePool, ...]


def find_advice(
    simulation: LoadSimulation,
    inputs: Inputs,
    checked: CheckResult,
    scope: Scope,
    *,
    goals: tuple[Goal, ...],
    options: SearchOptions,
) -> Advice:
    """Return the smallest change that was found.

    Raises:
        PreconditionError: If the load cannot be simulated, or nothing can be searched.
        KeyboardInterrupt: If it is interrupted before the policy as it is was simulated.
    """
    from apportion_cli.advise_patch import policy_patch
    from apportion_cli.advise_runs import Simulations
    from apportion_cli.simulation_progress import shown_simulations
    from apportion_review.advise.advise import SearchInputs, advise_quotas
    from apportion_review.advise.early_end import wait_limits
    from apportion_review.advise.pools import PolicyEdits, PoolEdit, searched_pools
    from apportion_review.advise.quotas import named_as_simulated, searched_quotas, simulated_names
    from apportion_review.advise.records import Advice
    from apportion_review.advise.sample import sample_interval

    console = current()
    graph = checked.graph
    assert graph is not None
    assert scope.name is not None
    program = checked.programs[scope.name]
    objects = simulation.objects(PolicyEdits())
    if objects is None:
        raise PreconditionError("the policy has errors", hint=f"run apportion validate {simulation.source}")
    scenario = simulation.scenario(objects)
    _refuse_unknown(goals, program, scenario)
    with shown_simulations(console, options.max_runs) as on_progress:
        simulations = Simulations(simulation, scenario, options.n_processes, options.max_time_s, on_progress)
        report = simulations.baseline(objects)
        summary = report.summary
        names = simulated_names(program, summary)
        goals = tuple(named_as_simulated(goal, names, summary) for goal in goals)
        known = sorted(each.name for each in summary.queues)
        for goal in goals:
            if goal.queue is not None and goal.queue not in known:
                raise _unknown(goal.queue, known)
        searched = searched_quotas(graph, scope, report, names, goals=goals, kept=options.kept)
        pools = searched_pools(options.pools, report)
        if not searched.quotas and not pools:
            raise PreconditionError(
                "; ".join(("no simulated queue has a GPU quota that can be changed", *searched.notes))
            )
        if not console.quiet:
            sizes = f" and {counted(len(pools), 'pool size')}" if pools else ""
            console.err(
                f"apportion: searching {counted(len(searched.quotas), 'quota')}{sizes} with at most {options.max_runs} simulations"
            )
        interval = 1 if pools else options.sample or sample_interval(scenario, searched.problem)
        limits = {n: wait_limits(goals, summary, n) for n in (1, interval)}
        sampled = simulations.on_sample(interval)

        def edits_of(vector: Vector) -> PolicyEdits:
            sizes = zip(pools, vector[len(searched.quotas) :], strict=True)
            changed = (PoolEdit(pool.pool, size) for pool, size in sizes if size != pool.present)
            return PolicyEdits(searched.edits(vector), tuple(changed))

        def simulate(
            simulations: Simulations, interval: int, batch: Sequence[Vector], *, to_end: bool
        ) -> Sequence[Summary | EndedEarly | None]:
            return simulations.summaries([edits_of(vector) for vector in batch], () if to_end else limits[interval])

        found = advise_quotas(
            SearchInputs(
                goals,
                searched,
                pools,
                summary,
                partial(simulate, simulations, 1),
                None if interval == 1 else partial(simulate, sampled, interval),
                lambda vector: simulation.is_valid(edits_of(vector)),
                options.max_runs,
                _WIDTH,
                random.Random(options.seed).randrange,  # noqa: S311 - the search must be repeatable
            )
        )
    edits = edits_of(found.found.vector) if found.found.is_met else PolicyEdits()
    patch, unpatched = policy_patch(graph, inputs.sources, edits)
    changes = {edit: _change(checked, inputs, edit) for edit in edits.quotas}
    pool_changes = {edit: _pool_change(checked, inputs, edit) for edit in edits.pools}
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
        required=found.found.required,
        patch=patch,
        unpatched=tuple(changes[edit] for edit in unpatched.quotas),
        unpatched_pools=tuple(pool_changes[edit] for edit in unpatched.pools),
        searches_pools=bool(pools),
        notes=searched.notes,
        max_runs=options.max_runs,
        sample=interval,
        stopped=found.stopped,
    )


def _refuse_unknown(goals: Sequence[Goal], program: Program, scenario: Scenario) -> None:
    """Raise `PreconditionError` for a queue that neither the policy nor the load has, before a long simulation."""
    from apportion_review.advise.quotas import possible_names

    known = possible_names(program)
    added = {str(made["metadata"]["name"]) for made in scenario.objects}
    for goal in goals:
        if goal.queue is not None and goal.queue not in known and goal.queue not in added:
            raise _unknown(goal.queue, sorted(queue.id for queue in program.queues))


def _unknown(queue: str, known: Sequence[str]) -> PreconditionError:
    return PreconditionError(f"the simulated cluster has no queue {queue}; it has {', '.join(known)}")


def _change(checked: CheckResult, inputs: Inputs, edit: QuotaEdit) -> QuotaChange:
    from apportion_policy.quantity import gpu_text
    from apportion_review.advise.records import QuotaChange

    graph = checked.graph
    assert graph is not None
    queue = graph.nodes[edit.queue].queue
    before = getattr(graph.base.values[edit.queue], edit.field).get(edit.resource, 0)
    declared = getattr(queue, edit.field)
    place = _place(inputs, (queue if declared is None else declared).source)
    return QuotaChange(edit.queue, edit.field, edit.resource, gpu_text(before), gpu_text(edit.amount), place)


def _pool_change(checked: CheckResult, inputs: Inputs, edit: PoolEdit) -> PoolChange:
    from apportion_review.advise.records import PoolChange

    assert checked.graph is not None
    pool = checked.graph.declarations.pools[edit.pool]
    return PoolChange(edit.pool, pool.max_nodes, edit.max_nodes, _place(inputs, pool.source))


def _place(inputs: Inputs, at: SourceLocation) -> str:
    return f"{inputs.sources.near(at.file)}:{at.line}" if at.line else ""
