"""Where queues and their overrides name GPU models, as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_compiler.graph.graph import Node, PolicyGraph
from apportion_compiler.graph.values import GPU_MODEL_PREFIX, declared_amounts
from apportion_policy.cluster import QueueOverride
from apportion_policy.identifiers import identity_of
from apportion_policy.quantity import Amount
from apportion_policy.queue import Override, Queue
from apportion_policy.resources import Resources, amount_text
from apportion_policy.source import SourceLocation

_VERBS = {
    "guaranteed": "guaranteed {}",
    "limit": "limited to {}",
    "lending_limit": "let to lend {}",
    "users": "limited to {} for a person",
}


@dataclass(frozen=True, slots=True)
class GpuMention:
    """An amount of a GPU model, in thousandths of a GPU, in a field of a queue or of its user limits.

    `environments` names those it was written for; None where it was written for all of them.
    """

    node: Node
    at: SourceLocation
    field: str
    model: str
    amount: Amount
    environments: frozenset[str] | None

    @property
    def text(self) -> str:
        """What it says of the queue: `guaranteed 8 H100`."""
        return _VERBS[self.field].format(amount_text(f"{GPU_MODEL_PREFIX}{self.model}", self.amount))


def gpu_mentions(graph: PolicyGraph) -> Iterator[GpuMention]:
    """Yield every amount of a GPU model that holds on the date or will."""
    for node in graph.nodes.values():
        queue = node.queue
        yield from _of(graph, node, queue, None)
        for user in queue.users:
            yield from _amounts(graph, node, "users", user.limit, user.source, environments=None)
        for override in queue.overrides:
            if override.end >= graph.as_of:
                named = override.environments
                yield from _of(graph, node, override, None if named is None else frozenset(map(identity_of, named)))
    for environment in graph.policy.environments:
        for change in environment.overrides:
            changed = graph.nodes.get(identity_of(change.queue))
            if changed is not None:
                yield from _of(graph, changed, change, frozenset((environment.name,)))


def is_replaced(graph: PolicyGraph, environment: str, mention: GpuMention) -> bool:
    """Tell whether an environment gives the queue other GPUs in place of these: GPUs are one resource there."""
    replaced = (
        getattr(override, mention.field, None)
        for override in graph.declarations.environments[environment].overrides
        if identity_of(override.queue) == mention.node.id
    )
    return any(_counts_gpus(resources) for resources in replaced)


def _counts_gpus(resources: Resources | None) -> bool:
    return resources is not None and (resources.gpu is not None or resources.machines is not None)


def _of(
    graph: PolicyGraph, node: Node, holder: Queue | Override | QueueOverride, environments: frozenset[str] | None
) -> Iterator[GpuMention]:
    for field in ("guaranteed", "limit", "lending_limit"):
        resources: Resources | None = getattr(holder, field)
        if resources is not None:
            yield from _amounts(graph, node, field, resources, holder.source, environments=environments)


def _amounts(
    graph: PolicyGraph,
    node: Node,
    field: str,
    resources: Resources,
    at: SourceLocation,
    *,
    environments: frozenset[str] | None,
) -> Iterator[GpuMention]:
    if resources.machines is None and not isinstance(resources.gpu, Mapping):
        return
    for resource, amount in declared_amounts(resources, graph.declarations.pools).items():
        if resource.startswith(GPU_MODEL_PREFIX):
            model = resource.removeprefix(GPU_MODEL_PREFIX)
            yield GpuMention(node, at, field, model, amount, environments)
