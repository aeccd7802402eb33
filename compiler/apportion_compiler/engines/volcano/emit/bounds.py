"""Values of a policy that Volcano cannot represent: depth, amounts, and features that older versions lack."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.capability import Refusal
from apportion_compiler.backends.largest_amounts import beyond_largest
from apportion_compiler.engine_versions import minor_text, parse_version
from apportion_compiler.engines.volcano.emit.amounts import amounts_by_partition, declared_units
from apportion_compiler.engines.volcano.emit.scheduler import scores_each_resource
from apportion_compiler.engines.volcano.emit.topologies import DISCOVERY_SINCE
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import Unlimited, gpu_text
from apportion_policy.resources import GPU, amount_text

MAX_DEPTH = 5
"""Maximum number of levels below root (cmd/webhook-manager/app/options/options.go, --max-queue-depth)."""

_MODEL_PREFIX = f"{GPU}/"


def beyond_engine(program: Program) -> Iterator[Refusal]:
    """Yield refusals of values of queues, topologies and the cluster."""
    by_id = {queue.id: queue for queue in program.queues}
    for queue in program.queues:
        yield from _too_deep(queue)
        yield from _unlimited_promises(queue, by_id)
        yield from _parts_of_gpus(queue)
    yield from _beyond_quantities(program)
    version = parse_version(program.engine_version)
    cluster = f"cluster {program.environment}/{program.cluster}"
    if version is not None and version < DISCOVERY_SINCE:
        for topology in program.topologies:
            yield Refusal(
                "AP511",
                f"topology {topology.name}",
                topology.source,
                f"topology before Volcano {minor_text(DISCOVERY_SINCE)}: network levels cannot be discovered from node labels",
                f"run Volcano {minor_text(DISCOVERY_SINCE)} or later, or remove the topology",
            )
    if program.gpu_placement == "spread" and not scores_each_resource(program):
        yield Refusal(
            "AP516",
            cluster,
            program.source,
            "SPREAD placement for GPUs before Volcano 1.13: nodes cannot be scored by free GPUs",
            "run Volcano 1.13 or later, or set GPU placement to BINPACK",
        )


def _too_deep(queue: Queue) -> Iterator[Refusal]:
    # The message names the queue at the first level beyond the limit.
    if len(queue.path) == MAX_DEPTH + 1:
        yield Refusal(
            "AP518",
            f"queue {queue.id}",
            queue.source,
            f"a tree of more than {MAX_DEPTH} levels: {' / '.join(queue.path)} has {len(queue.path)} levels",
            f"move `{queue.id}` at least one level up",
        )


def _unlimited_promises(queue: Queue, by_id: dict[str, Queue]) -> Iterator[Refusal]:
    """Yield refusals of UNLIMITED guarantees, except of inner queues that only sum those of their children."""
    for resource, amount in queue.guaranteed.items():
        below = (by_id[child].guaranteed.get(resource, 0) for child in queue.children)
        if isinstance(amount, Unlimited) and not any(isinstance(child, Unlimited) for child in below):
            yield Refusal(
                "AP519",
                f"queue {queue.id}",
                queue.source,
                f"an unlimited guarantee: `deserved` for {resource} must be a quantity",
                f"set a finite guarantee for {resource}",
            )


def _parts_of_gpus(queue: Queue) -> Iterator[Refusal]:
    for field, amounts in (
        ("guaranteed", queue.guaranteed),
        ("limit", queue.limit),
        ("lending_limit", queue.lending_limit),
    ):
        for resource, amount in amounts.items():
            counts_gpus = resource == GPU or resource.startswith(_MODEL_PREFIX)
            if counts_gpus and not isinstance(amount, Unlimited) and amount % 1000:
                yield Refusal(
                    "AP519",
                    f"queue {queue.id}",
                    queue.source,
                    f"GPU fractions: `{field}` is {amount_text(resource, amount)}, but nvidia.com/gpu is counted in "
                    "whole devices",
                    f"use {gpu_text(amount - amount % 1000)} or {gpu_text(amount - amount % 1000 + 1000)}",
                )


def _beyond_quantities(program: Program) -> Iterator[Refusal]:
    """Yield refusals of amounts that exceed a quantity, of each partition."""
    for of_queues in amounts_by_partition(program):
        for queue in program.queues:
            if queue.id in of_queues:
                amounts = of_queues[queue.id]
                yield from beyond_largest(queue, "`deserved`", declared_units(amounts.deserved))
                yield from beyond_largest(queue, "`guarantee.resource`", declared_units(amounts.guarantee))
                # A limit is written as at least `deserved`, which is reported once.
                limits = {r: amount for r, amount in amounts.capability.items() if amount != amounts.deserved.get(r)}
                yield from beyond_largest(queue, "`capability`", declared_units(limits))
