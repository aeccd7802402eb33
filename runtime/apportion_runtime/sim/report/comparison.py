"""Two policies on the same load: the differences between their reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from apportion_runtime.sim.report.report import Report, WorkloadReport
from apportion_runtime.sim.report.summary import QueueSummary, Summary

Value = float | str | None
_OF_WORKLOADS = ("queue", "started_s", "finished_s", "outcome", "n_evictions", "waited_s", "lost_gpu_hours")


@dataclass(frozen=True, slots=True)
class Change:
    """A changed value: `field` is its name in the report's JSON."""

    field: str
    before: Value
    after: Value


@dataclass(frozen=True, slots=True)
class ChangedItem:
    """A changed queue or workload with its changes; one that exists on only one side changes in all fields."""

    name: str
    changes: tuple[Change, ...]

    def of(self, field: str) -> Change | None:
        """Return the change of a field; None if there is none."""
        return next((change for change in self.changes if change.field == field), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences; `before` and `after` are the whole reports, used only for charts."""

    before: Report
    after: Report
    cluster: tuple[Change, ...]
    queues: tuple[ChangedItem, ...]
    workloads: tuple[ChangedItem, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.cluster or self.queues or self.workloads)

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        return {
            "apiVersion": "apportion.dev/v1",
            "kind": "SimulationComparison",
            "name": self.after.name,
            "cluster": [asdict(change) for change in self.cluster],
            "queues": [asdict(changed) for changed in self.queues],
            "workloads": [asdict(changed) for changed in self.workloads],
        }


def compare(before: Report, after: Report) -> Comparison:
    """Return the differences between two reports of one scenario."""
    queues = _pairs(
        {q.name: _queue(q) for q in before.summary.queues}, {q.name: _queue(q) for q in after.summary.queues}
    )
    workloads = _pairs(_named(before.workloads), _named(after.workloads))
    return Comparison(
        before=before,
        after=after,
        cluster=tuple(_changes(_cluster(before.summary), _cluster(after.summary))),
        queues=tuple(_changed(queues)),
        workloads=tuple(_changed(workloads)),
    )


def _cluster(summary: Summary) -> dict[str, Value]:
    """Return the numbers of the cluster, except the number of cycles."""
    names = [field.name for field in fields(summary) if field.name not in ("models", "queues", "outcomes", "n_cycles")]
    return {
        **{name: getattr(summary, name) for name in names},
        **{f"outcomes.{k}": v for k, v in summary.outcomes.items()},
    }


def _queue(queue: QueueSummary) -> dict[str, Value]:
    return {field.name: getattr(queue, field.name) for field in fields(queue) if field.name != "name"}


def _named(workloads: Iterable[WorkloadReport]) -> dict[str, dict[str, Value]]:
    """Return workloads by namespace and name; a number distinguishes those with the same name."""
    found: dict[str, dict[str, Value]] = {}
    for workload in workloads:
        name = f"{workload.namespace}/{workload.name}"
        number = 2
        while name in found:
            name, number = f"{workload.namespace}/{workload.name}#{number}", number + 1
        found[name] = {field: getattr(workload, field) for field in _OF_WORKLOADS}
    return found


def _pairs(
    before: Mapping[str, Mapping[str, Value]], after: Mapping[str, Mapping[str, Value]]
) -> Iterator[tuple[str, Mapping[str, Value], Mapping[str, Value]]]:
    for name in [*after, *(name for name in before if name not in after)]:
        yield name, before.get(name, {}), after.get(name, {})


def _changed(pairs: Iterable[tuple[str, Mapping[str, Value], Mapping[str, Value]]]) -> Iterator[ChangedItem]:
    for name, before, after in pairs:
        changes = tuple(_changes(before, after))
        if changes:
            yield ChangedItem(name, changes)


def _changes(before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[Change]:
    for field in [*after, *(field for field in before if field not in after)]:
        if before.get(field) != after.get(field):
            yield Change(field, before.get(field), after.get(field))
