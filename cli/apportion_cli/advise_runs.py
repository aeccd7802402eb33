"""Simulations of one load under many policies, in parallel processes."""

from __future__ import annotations

import gc
import io
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from apportion_cli.exit_codes import ExitCode
from apportion_cli.parallel_tasks import OnProgress, in_processes
from apportion_cli.scenario_objects import ScenarioObjects, compiled_objects
from apportion_cli.scenario_run import SimulationTarget, read_load, simulated_history
from apportion_policy.duration import duration_text

if TYPE_CHECKING:
    from apportion_cli.trace_input import TraceInput
    from apportion_compiler.compile import CheckResult, Target
    from apportion_policy.policy import Policy
    from apportion_review.advise.advise import EndedEarly
    from apportion_review.advise.early_end import WaitLimit
    from apportion_review.advise.pools import PolicyEdits
    from apportion_runtime.sim.cluster import Cluster
    from apportion_runtime.sim.history import History
    from apportion_runtime.sim.report.report import Report
    from apportion_runtime.sim.report.summary import Summary
    from apportion_runtime.sim.scenario.format import Scenario

_CHECKED_EVERY = 2_000
"""The number of events between two checks of the goals."""
_SHOWN_EVERY, _SHOWN_S = 100, 1.0
"""The least number of events, and seconds, between two messages of progress."""
_Result = TypeVar("_Result")


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

    def objects(self, edits: PolicyEdits) -> ScenarioObjects | None:
        """Return the objects of an edited policy, with the nodes that it adds; None if it has errors.

        Raises:
            PreconditionError: If the engine is not simulated.
        """
        from apportion_compiler.compile import compile_checked

        checked = self._checked(edits)
        if checked is None:
            return None
        compilation = compile_checked(checked, self.targets)
        changed = {edit.pool: edit.max_nodes for edit in edits.pools}
        added = {pool: changed.get(pool, size) - size for pool, size in self.sizes.items()}
        return replace(compiled_objects(compilation, self.targets[0].scope), added_nodes=added)

    def is_valid(self, edits: PolicyEdits) -> bool:
        """Return whether an edited policy has no errors on any cluster."""
        return self._checked(edits) is not None

    def _checked(self, edits: PolicyEdits) -> CheckResult | None:
        from apportion_compiler.compile import check_policy
        from apportion_compiler.diagnostics.diagnostic import has_errors
        from apportion_review.advise.pools import edited_policy

        checked = check_policy(edited_policy(self.policy, edits), self.as_of)
        return None if has_errors(checked.diagnostics) else checked

    def scenario(self, objects: ScenarioObjects) -> Scenario:
        """Return the load, which is the same for each variant apart from added nodes.

        Raises:
            PreconditionError: If the load cannot be read or has no nodes of a pool.
        """
        return read_load(self.load, objects)


@dataclass(slots=True)
class Simulations:
    """Runs simulations of a load, and ends when the time is over.

    Attributes:
        load: The load.
        scenario: The load as it was read.
        n_processes: Number of simulations that run in parallel.
        max_time_s: No simulation begins that would probably end later.
        on_progress: Receives about once per second the number of simulations that have ended, and the progress of those that run.
    """

    load: LoadSimulation
    scenario: Scenario
    n_processes: int
    max_time_s: float
    on_progress: Callable[[int, Sequence[float]], None]
    _begun: float = field(default_factory=time.monotonic)
    _longest_s: float = 0.0
    _n_ended: list[int] = field(default_factory=lambda: [0])
    """Also of samples."""

    def baseline(self, objects: ScenarioObjects) -> Report:
        """Return the report for the policy as it is, without its workloads, and show its warnings."""
        (report,) = self._results([partial(_baseline, self.load, objects, self.scenario)])
        return report

    def on_sample(self, interval: int) -> Simulations:
        """Return simulations of a sample of the load, with the same limits."""
        from apportion_review.advise.sample import sampled_policy, sampled_scenario

        target = self.load.targets[0]
        policy = sampled_policy(self.load.policy, target.environment, target.cluster, interval)
        return replace(
            self,
            load=replace(self.load, policy=policy),
            scenario=sampled_scenario(self.scenario, interval),
            _longest_s=0.0,
        )

    def summaries(
        self, batch: Sequence[PolicyEdits], limits: Sequence[WaitLimit | None]
    ) -> list[Summary | EndedEarly | None]:
        """Return the summary for each of several edits, in their order; None if the edited policy has errors.

        A simulation ends early when more waits exceed their goal than `limits` allow.

        Raises:
            SearchStoppedError: If the time is over, or it is interrupted.
        """
        from apportion_review.advise.problem import SearchStoppedError
        from apportion_review.advise.records import INTERRUPTED

        if time.monotonic() - self._begun + self._longest_s > self.max_time_s:
            raise SearchStoppedError(f"the time limit of {duration_text(round(self.max_time_s))} (--max-time)")
        try:
            return self._results([partial(_summary, self.load, edits, self.scenario, limits) for edits in batch])
        except KeyboardInterrupt:
            raise SearchStoppedError(INTERRUPTED) from None

    def _results(self, tasks: Sequence[Callable[[OnProgress], _Result]]) -> list[_Result]:
        begun, n_before = time.monotonic(), self._n_ended[0]
        if self.n_processes == 1:
            found: list[_Result] = []
            for task in tasks:
                found.append(task(lambda fraction: self.on_progress(n_before + len(found), [fraction])))
                # Commands run without the garbage collector, and a simulation leaves cycles behind.
                gc.collect()
        else:
            found = in_processes(
                tasks, self.n_processes, lambda n_ended, running: self.on_progress(n_before + n_ended, running)
            )
        self._n_ended[0] += len(tasks)
        n_rounds = -(-len(tasks) // self.n_processes)
        self._longest_s = max(self._longest_s, (time.monotonic() - begun) / max(1, n_rounds))
        return found


class _EndedEarlyError(Exception):
    """Ends a simulation."""

    def __init__(self, ended: EndedEarly) -> None:
        super().__init__()
        self.ended = ended


def _baseline(load: LoadSimulation, objects: ScenarioObjects, scenario: Scenario, on_progress: OnProgress) -> Report:
    from apportion_runtime.sim.report.report import build_report

    history = _simulated(load, objects, scenario, _shown(on_progress))
    return replace(build_report(history, "", scenario.start), workloads=(), placements=())


def _summary(
    load: LoadSimulation,
    edits: PolicyEdits,
    scenario: Scenario,
    limits: Sequence[WaitLimit | None],
    on_progress: OnProgress,
) -> Summary | EndedEarly | None:
    from apportion_review.advise.advise import EndedEarly
    from apportion_review.advise.early_end import GoalMonitor
    from apportion_runtime.sim.report.summary import summarise
    from apportion_runtime.sim.scenario.pool_sizes import with_added_nodes

    objects = load.objects(edits)
    if objects is None:
        return None
    monitor, show = GoalMonitor(limits), _shown(on_progress)
    n_events = 0

    def on_event(cluster: Cluster) -> None:
        nonlocal n_events
        n_events += 1
        show(cluster)
        if n_events % _CHECKED_EVERY == 0:
            missed = monitor.missed(cluster.history, cluster.cluster_state.elapsed_s)
            if missed:
                raise _EndedEarlyError(EndedEarly(missed))

    enlarged = with_added_nodes(scenario, objects.added_nodes)
    try:
        # The first simulation has shown the warnings.
        with redirect_stderr(io.StringIO()):
            return summarise(_simulated(load, objects, enlarged, on_event))
    except _EndedEarlyError as early:
        return early.ended


def _simulated(
    load: LoadSimulation, objects: ScenarioObjects, scenario: Scenario, on_event: Callable[[Cluster], None]
) -> History:
    """Return the history of a simulation. Raises `KeyboardInterrupt` if it is interrupted."""
    target = SimulationTarget(load.source, shard=load.shard)
    history, code = simulated_history(target, objects, load.load, scenario, on_event=on_event)
    if code != ExitCode.OK:
        raise KeyboardInterrupt
    return history


def _shown(on_progress: OnProgress) -> Callable[[Cluster], None]:
    """Return what reports the fraction of the workloads that have ended, about once per second."""
    shown, n_events = time.monotonic(), 0

    def show(cluster: Cluster) -> None:
        nonlocal shown, n_events
        n_events += 1
        if n_events % _SHOWN_EVERY or time.monotonic() - shown < _SHOWN_S:
            return
        shown = time.monotonic()
        made = cluster.history.workloads
        on_progress(sum(bool(facts.outcome) for facts in made) / max(1, len(made)))

    return show
