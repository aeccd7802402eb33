"""Nodes of a policy's pools for scenarios: `policy_pool` of an entry of `nodes`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apportion_api.kubernetes.names import GPU_COUNT_LABEL, GPU_MEMORY_LABEL, GPU_RESOURCE

if TYPE_CHECKING:
    from apportion_compiler.ir.program import Program
    from apportion_runtime.sim.scenario.format import NodeShape

_DEVICE_MEMORY_MIB = 81_920
_MIB = 1024**2


def policy_nodes(program: Program) -> Mapping[str, NodeShape]:
    """Return the node template of each pool by id: labels, taints, and allocatable resources."""
    from apportion_compiler.backends.pool_labels import node_labels
    from apportion_policy.quantity import Unlimited, cpu_text, memory_text
    from apportion_runtime.sim.scenario.format import NodeShape

    shapes: dict[str, NodeShape] = {}
    for pool in program.pools:
        allocatable = {"pods": "110"}
        for resource, text in (("cpu", cpu_text), ("memory", memory_text)):
            amount = pool.machine.get(resource)
            if amount is not None and not isinstance(amount, Unlimited):
                allocatable[resource] = text(amount)
        labels = dict(node_labels(program, pool))
        if pool.n_gpus:
            held = pool.gpu_memory
            memory = held // _MIB if isinstance(held, int) else _DEVICE_MEMORY_MIB
            allocatable[GPU_RESOURCE] = str(pool.n_gpus)
            labels |= {GPU_COUNT_LABEL: str(pool.n_gpus), GPU_MEMORY_LABEL: str(memory)}
        taints = tuple({"key": t.key, "value": t.value or "", "effect": t.effect} for t in pool.taints)
        shapes[pool.id] = NodeShape(labels, allocatable, taints)
    return shapes
