"""What one policy asks beyond what Kueue can hold: more than a parent has, fractions of a GPU, more than the CRD admits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.backends.capability import Refusal
from apportion_compiler.backends.kueue.division import DEVICE, counted_resources
from apportion_compiler.backends.kueue.flavors import layout_of, places_by_topology
from apportion_compiler.backends.kueue.quotas import groups_of
from apportion_compiler.ir.program import Program
from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import GPU, amount_text

_MAX_FLAVORS = 64
"""Of one resource group (CRD, maxItems)."""
_MAX_RESOURCES = 64
_MAX_PAIRS = 512
"""Flavors times resources of one group (pkg/webhooks/clusterqueue_webhook.go)."""


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield what the program asks beyond the table."""
    yield from _fractions(program)
    yield from _overcommitted(program)
    yield from _too_many(program)
    yield from _topologies(program)


def _fractions(program: Program) -> Iterator[Refusal]:
    for queue in program.queues:
        if not queue.is_leaf:
            continue
        for resource, amount in queue.guaranteed.items():
            if _is_gpu(resource) and isinstance(amount, int) and amount % DEVICE:
                whole = amount - amount % DEVICE
                yield Refusal(
                    "AP519",
                    f"queue {queue.id}",
                    queue.source,
                    f"a guarantee of {amount_text(resource, amount)}: quotas count whole devices, and {whole // DEVICE} "
                    "would be kept",
                    f"guarantee {amount_text(resource, whole)} or {amount_text(resource, whole + DEVICE)}",
                )


def _overcommitted(program: Program) -> Iterator[Refusal]:
    """A cohort has what its members have: a parent that promises more than it has, has more."""
    by_id = {queue.id: queue for queue in program.queues}
    counted = counted_resources(program)
    for queue in program.queues:
        children = [by_id[child].guaranteed for child in queue.children]
        for resource in counted if children else ():
            promised, has = _bounded(children, resource), queue.guaranteed.get(resource, 0)
            if promised is not None and isinstance(has, int) and promised > has:
                yield Refusal(
                    "AP506",
                    f"queue {queue.id}",
                    queue.source,
                    f"that the queues below `{queue.id}` are promised {amount_text(resource, promised)} of its "
                    f"{amount_text(resource, has)}: quotas of a cohort add up, and all of it can be used at once",
                    f"guarantee `{queue.id}` {amount_text(resource, promised)}, or its children less",
                )


def _bounded(children: list[Mapping[str, Amount]], resource: str) -> int | None:
    total = 0
    for child in children:
        amount = child.get(resource, 0)
        if isinstance(amount, Unlimited):
            return None
        total += amount
    return total


def _too_many(program: Program) -> Iterator[Refusal]:
    layout = layout_of(program)
    for group in groups_of(program, layout):
        flavors, resources = len(group.flavors), len(group.resources)
        if flavors > _MAX_FLAVORS or resources > _MAX_RESOURCES or flavors * resources > _MAX_PAIRS:
            yield Refusal(
                "AP518",
                f"cluster {program.environment}/{program.cluster}",
                program.source,
                f"quotas of {resources} resources on {flavors} kinds of machines: a resource group takes {_MAX_FLAVORS} "
                f"flavors, {_MAX_RESOURCES} resources and {_MAX_PAIRS} pairs of them",
                "give the cluster fewer node pools that differ in GPU model, plan or topology, or count fewer resources",
            )


def _topologies(program: Program) -> Iterator[Refusal]:
    """Kueue places by a topology only work whose flavor has it."""
    placing = places_by_topology(program)
    by_pools = {pool.topology for pool in program.pools}
    for topology in program.topologies:
        if placing and topology.name in by_pools:
            continue
        if topology.name not in by_pools:
            reason, hint = "no node pool of the cluster names it", "name it in `topology` of the pools it is for"
        else:
            reason = "a pool of the cluster scales by itself, and would not while Kueue waits to see its nodes"
            hint = "give such pools a provisioning plan or a fixed size, or leave `topology` out of the cluster's pools"
        yield Refusal(
            "AP511",
            f"topology {topology.name}",
            topology.source,
            f"topology `{topology.name}` on this cluster: {reason}",
            hint,
        )


def _is_gpu(resource: str) -> bool:
    return resource == GPU or resource.startswith(f"{GPU}/")
