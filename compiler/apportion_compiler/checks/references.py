"""Every name by which one declaration refers to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from apportion_compiler.graph.declarations import Declarations
from apportion_policy.cluster import QueueOverride
from apportion_policy.identifiers import identity_of
from apportion_policy.queue import Override, Queue
from apportion_policy.resources import Resources
from apportion_policy.source import SourceLocation

QUEUE, POOL, CLASS, PLAN, ENVIRONMENT, RULE = (
    "queue", "node pool", "priority class", "provisioning plan", "environment", "rule",
)  # fmt: skip
RULES_ADDRESS = "rules"


class Reference(NamedTuple):
    """A reference to an object by kind and name, with the path of the value in the declaration at `at`."""

    kind: str
    name: str
    path: tuple[str, ...]
    address: str
    at: SourceLocation


def cluster_kind(environment: str) -> str:
    """Return the kind of an environment's clusters: their names are unique only within it."""
    return f"{environment} cluster"


def references(declarations: Declarations) -> Iterator[Reference]:
    """Yield every reference, those of queues first, except a queue's `parent` and a pool's `topology`."""
    policy = declarations.policy
    for declared in declarations.queues:
        yield from _of_queue(declared.queue)
    for environment in policy.environments:
        address = f"environment {environment.name}"
        for override in environment.overrides:
            yield Reference(QUEUE, identity_of(override.queue), ("queue",), address, override.source)
            yield from _of_amounts(override, address)
            if override.clusters:
                yield from _items(
                    cluster_kind(environment.name), "clusters", override.clusters, address, override.source
                )
        for cluster in environment.clusters:
            scope = f"cluster {environment.name}/{cluster.name}"
            yield from _items(POOL, "pools", map(identity_of, cluster.pools), scope, cluster.source)
    for cls in policy.priority_classes:
        named = map(identity_of, cls.queues or ())
        yield from _items(QUEUE, "queues", named, f"priority class {cls.name}", cls.source)
    for pool in policy.node_pools:
        if pool.provisioning is not None:
            plan = identity_of(pool.provisioning)
            yield Reference(PLAN, plan, ("provisioning",), f"node pool {pool.id}", pool.source)
    for waiver in policy.waivers:
        yield Reference(RULE, waiver.code, ("code",), f"waiver {waiver.code} {waiver.address}", waiver.source)
    for code in policy.rules.severity:
        yield Reference(RULE, code, ("severity", code), RULES_ADDRESS, policy.rules.source)


def _of_queue(queue: Queue) -> Iterator[Reference]:
    address = f"queue {queue.id}"
    if queue.pools:
        yield from _items(POOL, "pools", map(identity_of, queue.pools), address, queue.source)
    if queue.priority_classes:
        named = map(identity_of, queue.priority_classes)
        yield from _items(CLASS, "priority_classes", named, address, queue.source)
    yield from _of_amounts(queue, address)
    for user in queue.users:
        yield from _of_machines(user.limit, address)
    for override in queue.overrides:
        yield from _of_amounts(override, address)
        if override.environments:
            stages = map(identity_of, override.environments)
            yield from _items(ENVIRONMENT, "environments", stages, address, override.source)


def _of_amounts(holder: Queue | Override | QueueOverride, address: str) -> Iterator[Reference]:
    for resources in (holder.guaranteed, holder.limit, holder.lending_limit):
        if resources is not None and resources.machines:
            yield from _of_machines(resources, address)


def _of_machines(resources: Resources, address: str) -> Iterator[Reference]:
    for pool in resources.machines or ():
        yield Reference(POOL, pool, ("machines", pool), address, resources.source)


def _items(kind: str, field: str, names: Iterable[str], address: str, at: SourceLocation) -> Iterator[Reference]:
    for index, name in enumerate(names):
        yield Reference(kind, name, (field, str(index)), address, at)
