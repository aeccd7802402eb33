"""AP614: a node pool declares resources that differ from its machine type.

Quotas are checked against the declared resources of pools. Only the types in `machine_types.py` are checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.counted_nouns import counted
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.machine_types import AWS_MACHINES, Machine, gke_machine
from apportion_policy.pool import NodePool
from apportion_policy.providers import Gke
from apportion_policy.quantity import Unlimited, decimal_text, parse_cpu, parse_memory, readable_memory
from apportion_policy.source import SourceLocation

MACHINE_TYPE_MISMATCH = Rule(
    "AP614",
    "machine-type-mismatch",
    Severity.WARNING,
    "a node pool declares resources that its machine type does not have",
)

_GIB = 1024**3
"""Providers write GB for GiB."""

_Fault = tuple[str, str, ValueEdit | None]


def machine_type_mismatch(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check every pool with a known machine type."""
    for pool in graph.declarations.pools.values():
        machine = _machine(pool)
        for message, hint, fix in _faults(pool, machine) if machine is not None else ():
            yield Diagnostic(
                MACHINE_TYPE_MISMATCH,
                f"node pool {pool.id}",
                f"`{pool.id}` declares {message}",
                pool.source,
                hint=hint,
                fix=fix,
            )


def _machine(pool: NodePool) -> Machine | None:
    if pool.machine_type is None:
        return None
    if isinstance(pool.provider, Gke):
        return gke_machine(pool.machine_type)
    return AWS_MACHINES.get(pool.machine_type) if pool.provider.kind in ("eks", "karpenter") else None


def _faults(pool: NodePool, machine: Machine) -> Iterator[_Fault]:
    gpus, at = pool.accelerator, None if pool.accelerator is None else pool.accelerator.source
    n_declared = 0 if gpus is None else gpus.count
    if n_declared != machine.n_gpus:
        yield (
            f"{counted(n_declared, 'GPU')} per machine, but {pool.machine_type} has {machine.n_gpus}",
            _gpu_hint(n_declared, machine),
            _edit(at, "count", machine.n_gpus) if machine.n_gpus else None,
        )
    elif gpus is not None and isinstance(pool.provider, Gke) and gpus.provider_name not in (None, machine.accelerator):
        yield (
            f"GPUs of type {gpus.provider_name}, but {pool.machine_type} has {machine.accelerator}",
            f"set `provider_name` to {machine.accelerator}",
            _edit(at, "provider_name", machine.accelerator),
        )
    yield from _sizes(pool, machine)


def _gpu_hint(n_declared: int, machine: Machine) -> str:
    if not machine.n_gpus:
        return "remove `accelerator`, or use a machine type with GPUs"
    if not n_declared:
        return f"set `accelerator` with a count of {machine.n_gpus}, or use a machine type without GPUs"
    return f"set `count` to {machine.n_gpus}, or use a machine type with {counted(n_declared, 'GPU')}"


def _sizes(pool: NodePool, machine: Machine) -> Iterator[_Fault]:
    cpu = None if pool.cpu is None else parse_cpu(pool.cpu)
    if cpu is not None and not isinstance(cpu, Unlimited) and cpu > machine.cores * 1000:
        yield (
            f"{decimal_text(cpu)} cores per machine, but {pool.machine_type} has {machine.cores}",
            f"set `cpu` to less than {machine.cores}; the kubelet reserves part of the machine",
            None,
        )
    memory = None if pool.memory is None else parse_memory(pool.memory)
    if memory is not None and not isinstance(memory, Unlimited) and memory > machine.memory_gb * _GIB:
        yield (
            f"{readable_memory(memory)[0]} of memory per machine, but {pool.machine_type} has {machine.memory_gb}Gi",
            f"set `memory` to less than {machine.memory_gb}Gi; the kubelet reserves part of the machine",
            None,
        )


def _edit(at: SourceLocation | None, field: str, value: str | int | None) -> ValueEdit | None:
    return None if at is None else ValueEdit(at, (field,), value)
