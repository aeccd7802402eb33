"""Simulations of one load under many policies, in parallel processes."""

from __future__ import annotations

import io
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from apportion_cli.exit_codes import ExitCode
from apportion_cli.scenario_objects import compiled_objects
from apportion_cli.scenario_run import SimulationResult, SimulationTarget, simulate_objects

if TYPE_CHECKING:
    from apportion_cli.trace_input import TraceInput
    from apportion_compiler.compile import Target
    from apportion_policy.policy import Policy
    from apportion_review.advise.pools import PolicyEdits
    from apportion_runtime.sim.report.summary import Summary


@dataclass(frozen=True, slots=True)
class LoadSimulation:
    """A load on one cluster, which is simulated under variants of a policy.

    Attributes:
        source: Name of the policy in messages.
        policy: The policy as it is.
        targets: Targets of the cluster.
        as_of: Date on which overrides are evaluated.
        load: File of a scenario, or a trace.
        shard: SchedulingShard to simulate.
        sizes: `max_nodes` of the pools that variants may change.
    """

    source: str
    policy: Policy
    targets: tuple[Target, ...]
    as_of: date
    load: str | TraceInput
    shard: str | None
    sizes: Mapping[str, int] = field(default_factory=dict)

    def run(self, edits: PolicyEdits) -> SimulationResult | None:
        """Return the simulation under an edited policy, with the nodes that it adds; None if it has errors.

        Raises:
            PreconditionError: If the load cannot be read or has no nodes of a pool, or the engine is not simulated.
            KeyboardInterrupt: If it is interrupted.
        """
        from apportion_compiler.compile import compile_policy
        from apportion_compiler.diagnostics.diagnostic import has_errors
        from apportion_review.advise.pools import edited_policy

        compilation = compile_policy(edited_policy(self.policy, edits), self.targets, self.as_of)
        if has_errors(compilation.diagnostics):
            return None
        changed = {edit.pool: edit.max_nodes for edit in edits.pools}
        added = {pool: changed.get(pool, size) - size for pool, size in self.sizes.items()}
        found = replace(compiled_objects(compilation, self.targets[0].scope), added_nodes=added)
        result = simulate_objects(SimulationTarget(self.source, shard=self.shard), found, self.load, keeps_facts=False)
        if result.code != ExitCode.OK:
            raise KeyboardInterrupt
        return result


_simulation: LoadSimulation | None = None


def _summary(edits: PolicyEdits) -> Summary | None:
    """Return the summary of a simulation whose warnings the first one has already shown."""
    assert _simulation is not None
    with redirect_stderr(io.StringIO()):
        result = _simulation.run(edits)
    return None if result is None else result.report.summary


@contextmanager
def parallel_summaries(simulation: LoadSimulation, n_processes: int) -> Iterator[Summaries]:
    """Yield what simulates a batch of edited policies.

    The processes are forked, so the policy is not copied to them.
    """
    global _simulation  # noqa: PLW0603 - forked processes take it over.
    _simulation = simulation
    try:
        if n_processes == 1:
            yield Summaries(None)
            return
        with ProcessPoolExecutor(n_processes, multiprocessing.get_context("fork")) as pool:
            yield Summaries(pool)
    finally:
        _simulation = None


@dataclass(frozen=True, slots=True)
class Summaries:
    """Simulations in the processes of a pool, or in this one."""

    pool: Executor | None

    def of(self, batch: Sequence[PolicyEdits]) -> list[Summary | None]:
        """Return the summary for each of several edits, in their order; None if the edited policy has errors."""
        return list(map(_summary, batch) if self.pool is None else self.pool.map(_summary, batch))
