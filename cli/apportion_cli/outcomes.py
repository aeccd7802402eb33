"""Outcome tests: assertions on the report of a simulation, which list the violating workloads.

The pytest plugin (`pytest_plugin.py`) creates these; docs/outcome-tests.md has examples.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypeVar

from apportion_api.counted_nouns import counted
from apportion_cli.errors import PreconditionError
from apportion_runtime.sim.report.number_format import devices, elapsed, lasting, percent
from apportion_runtime.sim.report.summary import QueueSummary, upwards
from apportion_runtime.sim.scenario.fields import Fields

if TYPE_CHECKING:
    from apportion_cli.trace_input import TraceInput
    from apportion_runtime.sim.history import History
    from apportion_runtime.sim.report.report import Report, WorkloadReport

Found = TypeVar("Found")
Duration = float | str
"""Seconds, or a text such as `90s`, `1h30m` or `2d`."""
_SUCCEEDED = "succeeded"
_MOST_NAMED = 5


class OutcomeError(ValueError):
    """A simulation that cannot be run, or a query for an object that does not exist."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished simulation: its report and assertions.

    An assertion about workloads fails if the load has no matching workload, so that it is never vacuous.
    """

    report: Report
    history: History

    def queue(self, name: str) -> QueueSummary:
        """Return the results of a queue including its descendants. Raises `OutcomeError` if there is none."""
        return _named(name, {queue.name: queue for queue in self.report.summary.queues}, "queue")

    def workload(self, name: str) -> WorkloadReport:
        """Return the first workload with a name. Raises `OutcomeError` if there is none."""
        return _named(name, {workload.name: workload for workload in reversed(self.report.workloads)}, "workload")

    def workloads(self, queue: str | None = None, *, gpus: float = math.inf) -> list[WorkloadReport]:
        """Return the workloads of a queue and its descendants, or all, that request at most this number of GPUs."""
        if queue is None:
            return [found for found in self.report.workloads if found.gpus <= gpus]
        self.queue(queue)
        parents = {found.name: found.parent for found in self.report.summary.queues}
        return [
            found for found in self.report.workloads if found.gpus <= gpus and queue in upwards(found.queue, parents)
        ]

    def assert_waits(
        self, queue: str | None = None, *, at_most: Duration, gpus: float = math.inf, percentile: float = 100
    ) -> None:
        """Assert that no single wait of a workload is longer; with a percentile, for that percentage of workloads.

        Args:
            queue: The queue, including its descendants; all queues by default.
            at_most: The maximum time pending, before the first start or after an eviction.
            gpus: Only workloads that request at most this number of GPUs.
            percentile: Percentage of workloads that must satisfy it; 100 is all.
        """
        __tracebackhide__ = True
        bound = _seconds("at_most", at_most)
        asked = self._asked(queue, gpus)
        longest = sorted((self._longest_wait(found), number) for number, found in enumerate(asked))
        n_allowed = math.ceil(len(longest) * percentile / 100)
        over = [(wait, asked[number]) for wait, number in longest[:n_allowed] if wait > bound]
        what = f"waited longer than {lasting(bound)}"
        self._refuse(queue, what, over, asked, lambda wait, found: f"{lasting(wait)} for {devices(found.gpus)} GPUs")

    def assert_evictions(self, queue: str | None = None, *, at_most: int = 0, by: str | None = None) -> None:
        """Assert the maximum number of evictions of gangs, of a queue or in total; `by` counts only those for one queue."""
        __tracebackhide__ = True
        victims = None if queue is None else self._below(queue)
        beneficiaries = None if by is None else self._below(by)
        found = [
            made
            for made in self.report.preemptions
            if (victims is None or made.queue in victims) and (beneficiaries is None or made.by in beneficiaries)
        ]
        total = sum(made.n_evictions for made in found)
        if total > at_most:
            who = ", ".join(
                f"{made.queue} was evicted {_times(made.n_evictions)}{f' by {made.by}' if made.by else ''}"
                for made in found
            )
            raise AssertionError(f"{counted(total, 'eviction')}, expected at most {at_most}: {who}")

    def assert_share(self, queue: str, *, at_least: float) -> None:
        """Assert the minimum usage of a queue's fair share over time; 0.9 is 90%."""
        __tracebackhide__ = True
        share = self.queue(queue).share
        if share is None:
            raise AssertionError(f"{queue} had no fair share: none of its workloads requested GPUs")
        if share < at_least:
            raise AssertionError(
                f"{queue} used {percent(share)} of its fair share, expected at least {percent(at_least)}"
            )

    def assert_utilisation(self, *, at_least: float) -> None:
        """Assert the minimum GPU utilisation; 0.8 is 80%."""
        __tracebackhide__ = True
        found = self.report.summary.utilisation
        if found < at_least:
            raise AssertionError(f"GPU utilisation is {percent(found)}, expected at least {percent(at_least)}")

    def assert_lost(self, queue: str | None = None, *, at_most_gpu_hours: float) -> None:
        """Assert the maximum number of GPU-hours repeated after evictions, of a queue or in total."""
        __tracebackhide__ = True
        found = self.report.summary.lost_gpu_hours if queue is None else self.queue(queue).lost_gpu_hours
        if found > at_most_gpu_hours:
            raise AssertionError(f"{_of(queue)}{found:,.1f} GPU-hours lost, expected at most {at_most_gpu_hours:,.1f}")

    def assert_succeeds(self, queue: str | None = None, *, within: Duration | None = None) -> None:
        """Assert that every workload of a queue, or all, succeeds; with `within`, in this time after its arrival."""
        __tracebackhide__ = True
        bound = math.inf if within is None else _seconds("within", within)
        asked = self._asked(queue, math.inf)
        late = [
            (math.inf if found.outcome != _SUCCEEDED else _took(found), found)
            for found in asked
            if found.outcome != _SUCCEEDED or _took(found) > bound
        ]
        in_time = "" if within is None else f" within {lasting(bound)}"

        def describe(took: float, found: WorkloadReport) -> str:
            why = f" ({found.why_waiting})" if found.why_waiting else ""
            return f"{found.outcome}{why}" if took == math.inf else f"took {lasting(took)}"

        self._refuse(queue, f"did not succeed{in_time}", late, asked, describe)

    def _asked(self, queue: str | None, gpus: float) -> list[WorkloadReport]:
        found = self.workloads(queue, gpus=gpus)
        if not found:
            most = "" if gpus == math.inf else f" that requests at most {devices(gpus)} GPUs"
            raise AssertionError(
                f"the load contains no workload{'' if queue is None else f' in queue {queue}'}{most}, so the assertion is vacuous"
            )
        return found

    def _below(self, name: str) -> set[str]:
        self.queue(name)
        parents = {found.name: found.parent for found in self.report.summary.queues}
        return {found for found in parents if name in upwards(found, parents)}

    def _longest_wait(self, workload: WorkloadReport) -> float:
        ended = self.report.summary.duration_s
        return max(((ended if until is None else until) - since for since, until in workload.waits), default=0.0)

    def _refuse(
        self,
        queue: str | None,
        what: str,
        over: Sequence[tuple[float, WorkloadReport]],
        asked: Sequence[WorkloadReport],
        describe: Callable[[float, WorkloadReport], str],
    ) -> None:
        __tracebackhide__ = True
        if not over:
            return
        worst = sorted(over, key=lambda pair: -pair[0])[:_MOST_NAMED]
        lines = [f"  {found.name} ({found.queue}), which arrived at {elapsed(found.arrived_s)}: {describe(value, found)}"
                 for value, found in worst]  # fmt: skip
        rest = [] if len(over) <= _MOST_NAMED else [f"  … and {len(over) - _MOST_NAMED} more"]
        first = f"{_of(queue)}{len(over)} of {counted(len(asked), 'workload')} {what}"
        raise AssertionError("\n".join([first, *lines, *rest]))


def run(
    policy: str,
    load: str | TraceInput,
    *,
    env: str | None = None,
    cluster: str | None = None,
    engine: str | None = None,
    as_of: date | None = None,
    allow_missing_layers: bool = False,
) -> Outcome:
    """Simulate a policy or a rendered tree under a scenario, and return the outcome.

    Args:
        policy: As for `apportion simulate`.
        load: A scenario's file, or a trace.
        env: The environment of the policy.
        cluster: Its cluster.
        engine: Its engine.
        as_of: The date that determines the active overrides; by default today.
        allow_missing_layers: As the option of `apportion simulate`.

    Raises:
        OutcomeError: If it cannot be run: the policy has findings, a file cannot be read, or the cluster is ambiguous.
    """
    import click

    from apportion_cli.options import ALLOW_MISSING_LAYERS, today
    from apportion_cli.scenario_run import SimulationResult, SimulationTarget, simulate

    try:
        with click.Context(click.Command("simulate")) as context:
            context.meta[ALLOW_MISSING_LAYERS] = allow_missing_layers
            choice = SimulationTarget(policy, env, cluster, engine)
            found = simulate(choice, load, as_of=as_of or date.fromisoformat(today()), keeps_facts=True)
    except PreconditionError as cannot:
        raise OutcomeError(f"{cannot}" + (f" ({cannot.hint})" if cannot.hint else "")) from None
    except click.UsageError as wrong:
        raise OutcomeError(wrong.format_message()) from None
    if not isinstance(found, SimulationResult):
        raise OutcomeError(f"{policy} has findings, listed on standard error; run apportion validate {policy}")
    return Outcome(found.report, found.history)


def _named(name: str, known: Mapping[str, Found], kind: str) -> Found:
    found = known.get(name)
    if found is None:
        near = difflib.get_close_matches(name, known, 1)
        raise OutcomeError(f"{kind} {name} does not exist" + (f"; did you mean {near[0]}?" if near else ""))
    return found


def _seconds(name: str, duration: Duration) -> float:
    return Fields({name: duration}, "").seconds(name)


def _of(queue: str | None) -> str:
    return "" if queue is None else f"queue {queue}: "


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _took(workload: WorkloadReport) -> float:
    return (workload.finished_s or 0.0) - workload.arrived_s
