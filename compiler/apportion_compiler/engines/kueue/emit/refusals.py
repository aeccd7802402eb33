"""Values of a policy that Kueue cannot represent: overcommitted parents, GPU fractions, lists that are too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.capability import Refusal
from apportion_compiler.backends.largest_amounts import declared_beyond_largest, overflowing_total
from apportion_compiler.cluster_share import guarantee_at_least, written_text
from apportion_compiler.engine_versions import parse_version
from apportion_compiler.engines.kueue.emit.flavor_capacity import capacity
from apportion_compiler.engines.kueue.emit.flavor_quotas import DEVICE, counted_resources
from apportion_compiler.engines.kueue.emit.flavors import layout_of, places_by_topology
from apportion_compiler.engines.kueue.emit.quotas import groups_of
from apportion_compiler.engines.kueue.emit.unreachable_pools import unreachable_pools
from apportion_compiler.engines.kueue.names import NO_BOUND, TOTAL_GPUS
from apportion_compiler.ir.program import Program
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import MAX_AMOUNT, Amount, Unlimited, kubernetes_units
from apportion_policy.resources import CPU, GPU, amount_text

_MAX_FLAVORS = 64
"""Maximum of one resource group (CRD, maxItems)."""
_MAX_RESOURCES = 64
_MAX_PAIRS = 512
"""Maximum of flavors times resources of one group (pkg/webhooks/clusterqueue_webhook.go)."""
_SATURATES_SINCE = (0, 18)
"""Sums of quotas saturate since this version (pkg/resources/amount.go)."""


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield refusals of values beyond the table of capabilities."""
    yield from _fractions(program)
    yield from _overcommitted(program)
    yield from _too_many(program)
    yield from _topologies(program)
    yield from _declared_otherwise(program)
    yield from unreachable_pools(program)
    yield from declared_beyond_largest(program)
    yield from _beyond_quantities(program)


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
                    f"a guarantee of {amount_text(resource, amount)}: quotas count whole devices, so the emitted "
                    f"quota would be {whole // DEVICE}",
                    f"guarantee {amount_text(resource, whole)} or {amount_text(resource, whole + DEVICE)}",
                )


def _overcommitted(program: Program) -> Iterator[Refusal]:
    """Yield refusals of overcommitted parents: a cohort always has the sum of its members' quotas."""
    by_id = {queue.id: queue for queue in program.queues}
    counted = counted_resources(program)
    for queue in program.queues:
        children = [by_id[child].guaranteed for child in queue.children]
        models = sorted({r for child in children for r in child if r.startswith(f"{GPU}/")})
        # A policy that counts by model declares models; their total cannot be edited.
        for resource in (*(r for r in counted if r != GPU or not models), *models) if children else ():
            guaranteed, has = _bounded(children, resource), queue.guaranteed.get(resource, 0)
            if guaranteed is not None and isinstance(has, int) and guaranteed > has:
                yield Refusal(
                    "AP506",
                    f"queue {queue.id}",
                    queue.source,
                    f"guarantees of {amount_text(resource, guaranteed)} for the children of `{queue.id}`, whose own "
                    f"guarantee is {amount_text(resource, has)}: a cohort's quotas add up, and all of them can be used "
                    "at once",
                    f"raise the guarantee of `{queue.id}` to {_to_write(program, resource, guaranteed)}, or lower its "
                    "children's guarantees",
                )


def _to_write(program: Program, resource: str, amount: int) -> str:
    written = guarantee_at_least(amount, program.share, resource)
    return written_text(resource, written, program.share, f"{program.environment}/{program.cluster}")


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
                f"quotas for {resources} resources in {flavors} flavors: a resource group supports at most "
                f"{_MAX_FLAVORS} flavors, {_MAX_RESOURCES} resources and {_MAX_PAIRS} combinations of them",
                "reduce the number of node pools with different GPU models, plans or topologies, or declare fewer "
                "resources",
            )


def _topologies(program: Program) -> Iterator[Refusal]:
    """Yield refusals of topologies: Kueue applies a topology only to workloads whose flavor has it."""
    placing = places_by_topology(program)
    by_pools = {pool.topology for pool in program.pools}
    for topology in program.topologies:
        if placing and topology.name in by_pools:
            continue
        if topology.name not in by_pools:
            reason, hint = "no node pool in the cluster uses the topology", "set `topology` on the cluster's pools"
        else:
            reason = "the cluster has an autoscaled pool, which cannot scale up while Kueue waits for its nodes"
            hint = "give autoscaled pools a provisioning plan or a fixed size, or remove `topology` from the cluster's pools"
        yield Refusal(
            "AP511",
            f"topology {topology.name}",
            topology.source,
            f"topology `{topology.name}` on this cluster: {reason}",
            hint,
        )


def _is_gpu(resource: str) -> bool:
    return resource == GPU or resource.startswith(f"{GPU}/")


def _declared_otherwise(program: Program) -> Iterator[Refusal]:
    """Yield refusals of quotas declared by flavor that do not add up to the queue's guarantee."""
    by_id = {queue.id: queue for queue in program.queues}
    for queue in program.queues:
        if "resourceGroups" not in queue.kueue.spec:
            continue
        declared = _nominal(queue.kueue.spec["resourceGroups"])
        for resource in sorted({*declared, *(r for r in queue.guaranteed if not r.startswith(f"{GPU}/"))}):
            below = _bounded([by_id[child].guaranteed for child in queue.children], resource)
            has = queue.guaranteed.get(resource, 0)
            own = declared.get(resource, 0)
            if resource in program.unmanaged or below is None or isinstance(has, Unlimited) or own is None:
                continue
            if own + below != has:
                added = f", plus {amount_text(resource, below)} in the child queues" if below else ""
                yield Refusal(
                    "AP520",
                    f"queue {queue.id}",
                    queue.kueue.source if queue.kueue.source.line else queue.source,
                    f"a guarantee of {amount_text(resource, has)} with nominal quotas of "
                    f"{amount_text(resource, own)}{added}",
                    "set nominalQuota in `kueue.spec` so that the quotas add up to `guaranteed`, or remove resourceGroups from "
                    "`kueue.spec` so that Apportion divides the guarantee",
                )


def _nominal(groups: object) -> Mapping[str, int | None]:
    """Return the sum of quotas in the IR's units; None if one of them is invalid or represents unlimited."""
    found: dict[str, int | None] = {}
    for quota in (
        quota
        for group in _each(groups)
        for flavor in _each(_of(group, "flavors"))
        for quota in _each(_of(flavor, "resources"))
    ):
        name, written = str(_of(quota, "name")), _of(quota, "nominalQuota")
        resource = GPU if name == GPU_RESOURCE else name
        if name == TOTAL_GPUS:
            continue
        subtotal = found.get(resource, 0)
        amount = _amount(name, resource, 0 if written is None else written)
        found[resource] = None if subtotal is None or amount is None else subtotal + amount
    return found


def _amount(name: str, resource: str, written: object) -> int | None:
    if written == NO_BOUND.get(name, NO_BOUND[GPU_RESOURCE]) or not isinstance(written, str | int | float):
        return None
    try:
        return kubernetes_units(written, 1000 if resource == CPU else 1) * (DEVICE if resource == GPU else 1)
    except QuantityError:
        return None


def _each(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()


def _of(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _beyond_quantities(program: Program) -> Iterator[Refusal]:
    """Yield refusals of the root Cohort's quotas beyond a quantity, and of sums that Kueue cannot represent."""
    layout, version = layout_of(program), parse_version(program.engine_version)
    for resource in counted_resources(program):
        held = max((capacity(program, flavor, resource) or 0 for flavor in layout.flavors), default=0)
        roots = (queue.guaranteed.get(resource, 0) for queue in program.queues if queue.parent is None)
        guaranteed = sum(amount for amount in roots if not isinstance(amount, Unlimited))
        total = max(held, guaranteed)
        overflows = version is not None and version < _SATURATES_SINCE and total > MAX_AMOUNT
        if overflows or held - guaranteed > MAX_AMOUNT:
            yield overflowing_total(program, resource, total)
