"""What Koordinator has fields for and still cannot hold of one policy."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.capability import Refusal
from apportion_compiler.backends.quota_tree import beyond_numbers
from apportion_compiler.engines.koordinator.emit.quotas import lends_partially, weighs_nothing
from apportion_compiler.engines.koordinator.emit.trees import trees_of
from apportion_compiler.engines.koordinator.names import INSTALLED_CLASSES, RECLAIMED_BANDS
from apportion_compiler.ir.program import PriorityClass, Program, Queue


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield what one policy asks beyond what the table says."""
    yield from _lending(program)
    yield from _weights(program)
    trees = trees_of(program)
    yield from beyond_numbers(program, [tree.numbers.total for tree in trees], by_model=len(trees) > 1)
    for cls in program.priority_classes:
        yield from _priority(cls)
    for topology in program.topologies[1:]:
        yield Refusal(
            "AP511",
            f"topology {topology.name}",
            topology.source,
            "topology: the scheduler reads one ClusterNetworkTopology, and the cluster has another already",
            "declare the levels of both in one topology, or leave one out",
        )


def _lending(program: Program) -> Iterator[Refusal]:
    for queue in program.queues:
        if lends_partially(queue):
            yield _of_queue(
                "AP501",
                queue,
                "lending-limit: a quota lends all of its idle capacity or none, and this one lends all",
                "lend 0 of every resource, or leave `lending_limit` out",
            )


def _weights(program: Program) -> Iterator[Refusal]:
    for tree in trees_of(program):
        for queue in tree.queues:
            if weighs_nothing(queue, tree):
                yield _of_queue(
                    "AP507",
                    queue,
                    "over-quota-weight: weights of 0 for every resource count as unset, so the smallest weights are written",
                    "limit the queue to its guarantee",
                )
                break


def _priority(cls: PriorityClass) -> Iterator[Refusal]:
    for band, (least, most) in RECLAIMED_BANDS.items():
        if least <= cls.value <= most and cls.name not in INSTALLED_CLASSES:
            yield Refusal(
                "AP519",
                f"priority class {cls.name}",
                cls.source,
                f"a priority of {cls.value}: from {least} to {most} is {band}, whose pods get reclaimed cpu and memory "
                "that no quota counts",
                f"give the class a value outside {least} to {most}",
            )
    installed = INSTALLED_CLASSES.get(cls.name)
    if installed is not None and installed != cls.value:
        yield Refusal(
            "AP519",
            f"priority class {cls.name}",
            cls.source,
            f"the value {cls.value} of {cls.name}: the chart installs it with {installed}, and values are immutable",
            f"give the class another name, or the value {installed}",
        )


def _of_queue(code: str, queue: Queue, message: str, hint: str) -> Refusal:
    return Refusal(code, f"queue {queue.id}", queue.source, message, hint)
