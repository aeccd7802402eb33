"""Values of a policy that Koordinator has fields for but cannot represent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.koordinator.names import INSTALLED_CLASSES, UNCOUNTED_BANDS
from apportion_compiler.backends.capability import Refusal
from apportion_compiler.backends.quota_tree import beyond_numbers
from apportion_compiler.engines.koordinator.emit.quotas import lends_partially, weighs_nothing
from apportion_compiler.engines.koordinator.emit.trees import Tree, trees_of
from apportion_compiler.ir.program import PriorityClass, Program, Queue


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield refusals of values beyond the table of capabilities."""
    yield from _lending(program)
    trees = trees_of(program)
    yield from _weights(trees)
    yield from beyond_numbers(program, [tree.numbers.total for tree in trees], by_model=len(trees) > 1)
    for cls in program.priority_classes:
        yield from _priority(cls)
    for topology in program.topologies[1:]:
        yield Refusal(
            "AP511",
            f"topology {topology.name}",
            topology.source,
            "more than one topology: the scheduler reads only one ClusterNetworkTopology",
            "declare all levels in one topology, or remove this topology",
        )


def _lending(program: Program) -> Iterator[Refusal]:
    for queue in program.queues:
        if lends_partially(queue):
            yield _of_queue(
                "AP501",
                queue,
                "lending-limit: a quota lends all of its idle capacity or none, and this quota lends all of it",
                "set `lending_limit` to 0 for every resource, or remove it",
            )


def _weights(trees: Sequence[Tree]) -> Iterator[Refusal]:
    for tree in trees:
        for queue in tree.queues:
            if weighs_nothing(queue, tree):
                yield _of_queue(
                    "AP507",
                    queue,
                    "over-quota-weight: if all of a quota's weights are 0, Koordinator treats them as unset, so the "
                    "smallest weights above 0 are emitted instead",
                    "limit the queue to its guarantee",
                )
                break


def _priority(cls: PriorityClass) -> Iterator[Refusal]:
    for band, (least, most, resources) in UNCOUNTED_BANDS.items():
        if least <= cls.value <= most and cls.name not in INSTALLED_CLASSES:
            yield Refusal(
                "AP519",
                f"priority class {cls.name}",
                cls.source,
                f"a priority of {cls.value}: pods with a priority from {least} to {most} belong to the priority band {band} and "
                f"use {resources} cpu and memory, which quotas do not count",
                f"use a value outside the range {least} to {most}",
            )
    installed = INSTALLED_CLASSES.get(cls.name)
    if installed is not None and installed != cls.value:
        yield Refusal(
            "AP519",
            f"priority class {cls.name}",
            cls.source,
            f"value {cls.value} for {cls.name}: the chart installs this class with value {installed}, and values are "
            "immutable",
            f"rename the class, or set its value to {installed}",
        )


def _of_queue(code: str, queue: Queue, message: str, hint: str) -> Refusal:
    return Refusal(code, f"queue {queue.id}", queue.source, message, hint)
