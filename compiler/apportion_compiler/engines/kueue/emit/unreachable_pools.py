"""Queues whose limit leaves no quota on machines of queued provisioning.

Kueue counts each flavor separately. A limit on a GPU model with several flavors is divided among them, existing
machines before provisioned ones; the latter may get no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.capability import Refusal
from apportion_compiler.engines.kueue.emit.flavor_quotas import Division, divide
from apportion_compiler.engines.kueue.emit.flavors import Flavor, Layout, layout_of
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import UNLIMITED, Unlimited
from apportion_policy.resources import GPU, amount_text, gpu_resource


def unreachable_pools(program: Program) -> Iterator[Refusal]:
    """Yield each queue whose own limit excludes its workloads from queued machines that it may use."""
    layout = layout_of(program)
    queued = [flavor for flavor in layout.gpu_flavors if flavor.plan is not None]
    if not queued:
        return
    division = divide(program, layout)
    for queue in program.queues:
        if "resourceGroups" in queue.kueue.spec:
            continue
        for flavor in queued:
            refusal = _refusal(queue, flavor, layout, division)
            if refusal is not None:
                yield refusal


def _refusal(queue: Queue, flavor: Flavor, layout: Layout, division: Division) -> Refusal | None:
    limits = division.limit[queue.id]
    named = gpu_resource(flavor.model) if flavor.model is not None else GPU
    resource = named if named in queue.limit else GPU
    limit = queue.limit.get(resource, UNLIMITED)
    # A limit of zero is intended; a queue that may not use the machines has no quota there.
    if limits.get((flavor.name, GPU)) != 0 or isinstance(limit, Unlimited) or not limit:
        return None
    counted = [other for other in layout.gpu_flavors if resource == GPU or other.model == flavor.model]
    others = [other.name for other in counted if limits.get((other.name, GPU))]
    pools = ", ".join(f"`{pool.id}`" for pool in flavor.pools)
    return Refusal(
        "AP618",
        f"queue {queue.id}",
        queue.source,
        f"a limit of {amount_text(resource, limit)} across several kinds of machines: the limit is assigned to "
        f"{', '.join(f'`{name}`' for name in others)}, and workloads in `{queue.id}` cannot use nodes in {pools}",
        _hint(queue, resource, layout),
    )


def _hint(queue: Queue, resource: str, layout: Layout) -> str:
    if resource == GPU or layout.joined:
        return f"set resourceGroups in `kueue.spec` of `{queue.id}` to divide the limit among them"
    return f"to limit GPUs of any model across all machines, set `limit=Resources(gpu=…)` on `{queue.id}`"
