"""Guarantees and limits as integers for every queue, for quota trees that cannot represent unlimited amounts.

ACK's ElasticQuotaTree and Koordinator's ElasticQuota require a number for the same resources on every node, and a
parent that covers its children. An amount that the policy does not set becomes that of the parent; at the root, the
size of the cluster, or a number larger than any cluster if the pools do not determine the size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.backends.capability import Refusal
from apportion_compiler.backends.largest_amounts import overflowing_total
from apportion_compiler.ir.program import NodePool, Program, Queue
from apportion_policy.pool import Mig, Mps, TimeSlicing
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited, count_text, cpu_text, gpu_text, memory_text, smaller
from apportion_policy.resources import CPU, GPU, MEMORY

_WHOLE_GPU = 1000
_GPU_MODEL = f"{GPU}/"

MAX_NUMBER = (2**63 - 1) // 5
"""Largest safe number: Koordinator's own limit against overflow (pkg/scheduler/apis/config/v1/defaults.go)."""

_LARGEST = {CPU: 10**7 * 1000, MEMORY: 16 * 2**50, GPU: 10**10 * _WHOLE_GPU}
_LARGEST_COUNT = 10**10
"""More than any cluster has: ten million cores, 16 PiB, 10^10 devices. At least 2^31 in kube-queue's unit, which it
treats as unlimited. Five hundred of them still fit in 64 bits.
"""

OWN_GUARANTEE_ALONE = (
    "a queue reclaims only up to its own guarantee: if its siblings leave part of their parent's guarantee idle, the queue "
    "cannot reclaim that part from queues outside the parent"
)
"""Limitation of engines that compare only the leaf with its guarantee before they evict."""


def shares_guarantee(program: Program) -> bool:
    """Return whether a queue that is guaranteed something has a child that is guaranteed less."""
    by_id = {queue.id: queue for queue in program.queues}
    return any(
        amount != 0 and by_id[child].guaranteed.get(resource, 0) != amount
        for queue in program.queues
        for resource, amount in queue.guaranteed.items()
        for child in queue.children
    )


AmountOf = Callable[[Queue, str], Amount]


@dataclass(frozen=True, slots=True)
class QuotaTree:
    """Numbers in the IR's base units, by queue and resource.

    `total` is the amount of the root. `stand_ins` has, for each queue, the resources whose number represents an
    UNLIMITED guarantee.
    """

    total: Mapping[str, int]
    minimum: Mapping[str, Mapping[str, int]]
    maximum: Mapping[str, Mapping[str, int]]
    stand_ins: Mapping[str, tuple[str, ...]]


def quota_tree(queues: Sequence[Queue], sizes: Mapping[str, int], guaranteed: AmountOf, bound: AmountOf) -> QuotaTree:
    """Return the numbers of a tree; every amount declared in a policy that passes the checks is kept.

    Args:
        queues: In tree order; a parent that is not among them is ignored.
        sizes: For each resource to write, the number of the root unless the queues need a larger one.
        guaranteed: A queue's guarantee.
        bound: A queue's own limit; UNLIMITED if it has none.
    """
    made = {resource: _of_resource(queues, resource, size, guaranteed, bound) for resource, size in sizes.items()}
    return QuotaTree(
        {resource: numbers.total for resource, numbers in made.items()},
        {queue.id: {resource: numbers.minimum[queue.id] for resource, numbers in made.items()} for queue in queues},
        {queue.id: {resource: numbers.maximum[queue.id] for resource, numbers in made.items()} for queue in queues},
        {
            queue.id: tuple(r for r in made if isinstance(guaranteed(queue, r), Unlimited))
            for queue in queues
            if any(isinstance(guaranteed(queue, r), Unlimited) for r in made)
        },
    )


@dataclass(frozen=True, slots=True)
class _Numbers:
    total: int
    minimum: Mapping[str, int]
    maximum: Mapping[str, int]


def _of_resource(queues: Sequence[Queue], resource: str, size: int, guaranteed: AmountOf, bound: AmountOf) -> _Numbers:
    here = {queue.id for queue in queues}
    parents = {queue.id: queue.parent if queue.parent in here else None for queue in queues}
    needed = dict.fromkeys((None, *here), 0)
    unlimited = dict.fromkeys((None, *here), 0)
    for queue in reversed(queues):
        own = guaranteed(queue, resource)
        if isinstance(own, Unlimited):
            unlimited[parents[queue.id]] += 1
        else:
            needed[queue.id] = max(needed[queue.id], own)
        needed[parents[queue.id]] += needed[queue.id]

    effective: dict[str | None, Amount] = {None: Unlimited.UNLIMITED}
    for queue in queues:
        effective[queue.id] = smaller(bound(queue, resource), effective[parents[queue.id]])
    total = max(size, needed[None], *(amount for amount in effective.values() if not isinstance(amount, Unlimited)))

    minimum: dict[str | None, int] = {None: total}
    maximum: dict[str | None, int] = {None: total}
    # The remainder of a parent goes to the children with an UNLIMITED guarantee.
    rest: dict[str | None, int] = {None: total - needed[None]}
    for queue in queues:
        id_, parent = queue.id, parents[queue.id]
        own = guaranteed(queue, resource)
        more = rest[parent] // unlimited[parent] if isinstance(own, Unlimited) else 0
        minimum[id_] = needed[id_] + more
        below = sum(needed[child] for child in queue.children if child in here)
        rest[id_] = minimum[id_] - below
        limit = effective[id_]
        open_ = maximum[parent] if isinstance(limit, Unlimited) else min(limit, maximum[parent])
        maximum[id_] = max(minimum[id_], open_)
    return _Numbers(
        total, {queue.id: minimum[queue.id] for queue in queues}, {queue.id: maximum[queue.id] for queue in queues}
    )


def beyond_numbers(
    program: Program, totals: Sequence[Mapping[str, int]], *, by_model: bool = False
) -> Iterator[Refusal]:
    """Yield refusals of amounts that a tree of numbers cannot represent.

    Args:
        program: The cluster.
        totals: The amounts of the root, of each tree.
        by_model: Whether each GPU model has a separate tree.
    """
    for queue, resource in _promised_everything_twice(program.queues, by_model=by_model):
        yield _refusal(
            queue,
            f"more than one unlimited guarantee of {resource} among siblings: the engine adds up the minimums of "
            "siblings, so at most one may be unlimited",
            "set a finite guarantee on all siblings but one",
        )
    for queue in program.queues:
        for resource, amount in queue.guaranteed.items():
            # An inner queue's fraction of a GPU is that of its children, or rounds off an amount that no workload can
            # use.
            if queue.is_leaf and _counts_gpus(resource) and amount != whole_gpus(amount):
                yield _refusal(
                    queue,
                    f"a fractional GPU guarantee ({resource}): the engine counts whole devices",
                    "guarantee whole GPUs",
                )
    for total in totals:
        for resource, amount in total.items():
            if amount > MAX_NUMBER:
                yield overflowing_total(program, resource, amount)


def _promised_everything_twice(queues: Sequence[Queue], *, by_model: bool) -> Iterator[tuple[Queue, str]]:
    """Yield, with the resource, queues with an UNLIMITED guarantee whose sibling has one too."""
    seen: set[tuple[str | None, str]] = set()
    for queue in queues:
        names_models = any(resource.startswith(_GPU_MODEL) for resource in queue.guaranteed)
        for resource, amount in queue.guaranteed.items():
            # An UNLIMITED guarantee of one model makes the total UNLIMITED.
            other = (resource == GPU and names_models) if by_model else resource.startswith(_GPU_MODEL)
            if isinstance(amount, Unlimited) and not other:
                if (queue.parent, resource) in seen:
                    yield queue, resource
                seen.add((queue.parent, resource))


def _refusal(queue: Queue, message: str, hint: str) -> Refusal:
    return Refusal("AP519", f"queue {queue.id}", queue.source, message, hint)


def managed_resources(program: Program) -> tuple[str, ...]:
    """Return the resources that the policy declares, with GPUs as one: cpu, memory, gpu, then others by name.

    Other resources are omitted everywhere, so that they are unlimited.
    """
    declared_resources = {resource for queue in program.queues for resource in (*queue.guaranteed, *queue.limit)}
    common = [r for r in (CPU, MEMORY, GPU) if r not in program.unmanaged]
    return (*common, *sorted(r for r in declared_resources if not _is_common(r)))


def cluster_sizes(
    program: Program, resources: Sequence[str], pools: Sequence[NodePool] | None = None
) -> dict[str, int]:
    """Return the maximum size of the cluster by resource; more than any cluster has if pools do not determine it."""
    return {resource: _size(program.pools if pools is None else pools, resource) for resource in resources}


def declared_amount(amounts: Mapping[str, Amount], resource: str) -> Amount | None:
    """Return a declared amount, with GPUs rounded down to whole ones; None if not declared.

    The engines count whole devices, and would count two and a half GPUs as three.
    """
    amount = amounts.get(resource)
    return amount if resource != GPU or amount is None else whole_gpus(amount)


def guaranteed_amount(queue: Queue, resource: str) -> Amount:
    """Return a queue's guarantee; 0 if not declared."""
    amount = declared_amount(queue.guaranteed, resource)
    return 0 if amount is None else amount


def limit_amount(queue: Queue, resource: str) -> Amount:
    """Return a queue's limit; unlimited if not declared."""
    amount = declared_amount(queue.limit, resource)
    return UNLIMITED if amount is None else amount


def whole_gpus(amount: Amount) -> Amount:
    """Return an amount of GPUs rounded down to whole ones."""
    return amount if isinstance(amount, Unlimited) else amount - amount % _WHOLE_GPU


def quantity_text(resource: str, amount: int) -> str:
    """Return an amount as a Kubernetes quantity."""
    match resource:
        case "cpu":
            return cpu_text(amount)
        case "memory":
            return memory_text(amount)
        case "gpu":
            return gpu_text(amount)
        case _:
            return count_text(amount)


def stands_for_no_size(resource: str, amount: int) -> bool:
    """Return whether a number is the substitute for an unknown cluster size."""
    return amount == _LARGEST.get(resource, _LARGEST_COUNT)


def _size(pools: Sequence[NodePool], resource: str) -> int:
    if not pools or not (resource == GPU or all(resource in pool.machine for pool in pools)):
        return _LARGEST.get(resource, _LARGEST_COUNT)
    size = 0
    for pool in pools:
        held = pool.machine.get(resource, 0)
        if isinstance(held, Unlimited):
            return _LARGEST.get(resource, _LARGEST_COUNT)
        size += held * (_announced(pool) if resource == GPU else 1) * pool.max_nodes
    return size


def _announced(pool: NodePool) -> int:
    """Return the number of devices that a GPU of the pool is reported as: one for each client or MIG slice."""
    match pool.sharing:
        case TimeSlicing(clients=clients) | Mps(clients=clients):
            return clients
        case Mig(instances=instances):
            return instances
        case None:
            return 1


def _is_common(resource: str) -> bool:
    return resource in (CPU, MEMORY) or _counts_gpus(resource)


def _counts_gpus(resource: str) -> bool:
    return resource == GPU or resource.startswith(_GPU_MODEL)
