"""AP210: an implausibly small amount of memory, probably without a unit: memory=64 is 64 bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apportion_api.counted_nouns import agreeing
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.identifiers import identity_of
from apportion_policy.policy import Policy
from apportion_policy.pool import Accelerator, NodePool
from apportion_policy.quantity import Unlimited, parse_memory
from apportion_policy.resources import Resources

IMPLAUSIBLE_MEMORY = Rule(
    "AP210", "implausible-memory", Severity.ERROR, "an amount of memory is below 1Mi; its unit is probably missing"
)
SMALLEST = 2**20
"""In bytes. Even a container runtime needs more."""

_LARGE = tuple("iMGTPE")
_NUMBER = re.compile(r"[0-9]+")


def implausible_memory(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check every declared amount of memory, whether or not it is in effect."""
    for address, field, holder in _written(graph):
        if holder is None or holder.memory is None:
            continue
        text = str(holder.memory)
        # A suffix of mega or larger is plausible regardless of the number; Ki is the only smaller binary suffix.
        if text.endswith(_LARGE) and not text.endswith("Ki"):
            continue
        amount = parse_memory(text)
        if not isinstance(amount, Unlimited) and 0 < amount < SMALLEST:
            yield _finding(address, field, holder, text, amount)


_Holder = Resources | NodePool | Accelerator | None


def _written(graph: PolicyGraph) -> Iterator[tuple[str, str, _Holder]]:
    for node in graph.nodes.values():
        queue, name = node.queue, node.address
        yield name, "guaranteed memory", queue.guaranteed
        yield name, "memory limit", queue.limit
        if queue.lending_limit is not None:
            yield name, "memory lending limit", queue.lending_limit
        for override in queue.overrides:
            yield name, "guaranteed memory in an override", override.guaranteed
            yield name, "memory limit in an override", override.limit
            yield name, "memory lending limit in an override", override.lending_limit
        for user in queue.users:
            yield name, f"memory limit for user {user.user}", user.limit
    yield from _written_elsewhere(graph.policy)


def _written_elsewhere(policy: Policy) -> Iterator[tuple[str, str, _Holder]]:
    for environment in policy.environments:
        for override in environment.overrides:
            name = f"queue {identity_of(override.queue)}"
            yield name, f"guaranteed memory in {environment.name}", override.guaranteed
            yield name, f"memory limit in {environment.name}", override.limit
            yield name, f"memory lending limit in {environment.name}", override.lending_limit
    for pool in policy.node_pools:
        yield f"node pool {pool.id}", "memory per machine", pool
        yield f"node pool {pool.id}", "memory per GPU", pool.accelerator


def _finding(
    address: str, field: str, holder: Resources | NodePool | Accelerator, text: str, amount: int
) -> Diagnostic:
    number = _NUMBER.match(text)
    meant = f"{number[0] if number is not None else amount}Gi"
    unit = agreeing(amount, "byte")
    is_bare = text == str(amount)
    written = f"{amount} {unit}; numbers without a unit are in bytes" if is_bare else f"{text} ({amount} {unit})"
    return Diagnostic(
        IMPLAUSIBLE_MEMORY,
        address,
        f"`{address.rpartition(' ')[2]}` sets the {field} to {written}",
        holder.source,
        (),
        f'use "{meant}" if you mean gibibytes',
        ValueEdit(holder.source, ("memory",), meant),
    )
