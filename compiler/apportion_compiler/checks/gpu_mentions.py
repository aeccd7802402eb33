"""GPU models in queues and their overrides, as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX, declared_amounts
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.node import Node
from apportion_policy.cluster import QueueOverride
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import NodePool
from apportion_policy.quantity import Amount, parse_gpu
from apportion_policy.queue import Override, Queue, UserLimit
from apportion_policy.resources import Resources, amount_text
from apportion_policy.source import SourceLocation

_VERBS = {
    "guaranteed": "guaranteed {}",
    "limit": "limited to {}",
    "lending_limit": "allowed to lend {}",
    "users": "limited to {} per user",
}


_Holder = Queue | UserLimit | Override | QueueOverride


@dataclass(frozen=True, slots=True)
class GpuMention:
    """An amount of a GPU model, in thousandths of a GPU, in a field of a queue or of its user limits.

    `environments` are those it applies to; None for all.
    """

    node: Node
    at: SourceLocation
    field: str
    model: str
    amount: Amount
    environments: frozenset[str] | None

    @property
    def text(self) -> str:
        """The amount as text: `guaranteed 8 H100`."""
        return _VERBS[self.field].format(amount_text(f"{GPU_MODEL_PREFIX}{self.model}", self.amount))


def gpu_mentions(graph: PolicyGraph, without: AbstractSet[str]) -> Iterator[GpuMention]:
    """Yield the amounts of GPU models that are in effect on the date or later, except models in `without`."""
    pools = graph.declarations.pools
    for node, holder, environments in _holders(graph):
        for field, resources in _fields(holder):
            if resources is None or (resources.machines is None and type(resources.gpu) is str):
                continue
            if resources.machines is not None or isinstance(resources.gpu, Mapping):
                for model, amount in _amounts(resources, pools, without):
                    yield GpuMention(node, holder.source, field, model, amount, environments)


def replaced_gpus(graph: PolicyGraph) -> frozenset[tuple[str, str, str]]:
    """Return environment, queue and field wherever an environment replaces the GPUs of a queue."""
    return frozenset(
        (environment.name, identity_of(override.queue), field)
        for environment in graph.policy.environments
        for override in environment.overrides
        for field, resources in _fields(override)
        if resources is not None and (resources.gpu is not None or resources.machines is not None)
    )


def _holders(graph: PolicyGraph) -> Iterator[tuple[Node, _Holder, frozenset[str] | None]]:
    """Yield the declarations with amounts of a queue, and the environments that they apply to."""
    for node in graph.nodes.values():
        yield node, node.queue, None
        for user in node.queue.users:
            yield node, user, None
        for override in node.queue.overrides:
            if override.end >= graph.as_of:
                named = override.environments
                yield node, override, None if named is None else frozenset(map(identity_of, named))
    for environment in graph.policy.environments:
        for change in environment.overrides:
            changed = graph.nodes.get(identity_of(change.queue))
            if changed is not None:
                yield changed, change, frozenset((environment.name,))


def _fields(holder: _Holder) -> tuple[tuple[str, Resources | None], ...]:
    if isinstance(holder, UserLimit):
        return (("users", holder.limit),)
    return (
        ("guaranteed", holder.guaranteed),
        ("limit", holder.limit),
        ("lending_limit", holder.lending_limit),
    )


def _amounts(
    resources: Resources, pools: Mapping[str, NodePool], without: AbstractSet[str]
) -> Iterator[tuple[str, Amount]]:
    if isinstance(resources.gpu, Mapping):
        yield from ((model, parse_gpu(gpus)) for model, gpus in resources.gpu.items() if model not in without)
    elif resources.machines is not None:
        for resource, amount in declared_amounts(resources, pools).items():
            model = resource.removeprefix(GPU_MODEL_PREFIX)
            if resource.startswith(GPU_MODEL_PREFIX) and model not in without:
                yield model, amount
