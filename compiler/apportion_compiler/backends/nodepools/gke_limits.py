"""Limits of GKE's node auto-provisioning for the whole cluster, including pools that were created manually."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_compiler.backends.pool_labels import gke_accelerator
from apportion_compiler.ir.program import NodePool
from apportion_compiler.machine_types import Machine, gke_machine
from apportion_policy.quantity import Unlimited

_GB = 10**9


def auto_provisioning_limits(pools: Sequence[NodePool]) -> Mapping[str, int]:
    """Return the limit of each resource: cores, GB of memory, and devices by the provider's name.

    A machine of unknown size counts with its allocatable resources in the policy, which are less; without those, the
    limit is omitted.
    """
    limits: dict[str, int] = {}
    machines = [(pool, _machine(pool)) for pool in pools]
    if all(machine is not None for _, machine in machines):
        limits["cpu"] = sum(pool.max_nodes * machine.cores for pool, machine in machines if machine is not None)
        limits["memory"] = sum(pool.max_nodes * machine.memory_gb for pool, machine in machines if machine is not None)
    for pool in pools:
        accelerator = gke_accelerator(pool)
        if accelerator is not None:
            limits[accelerator] = limits.get(accelerator, 0) + pool.max_nodes * pool.n_gpus
    return limits


def _machine(pool: NodePool) -> Machine | None:
    known = None if pool.machine_type is None else gke_machine(pool.machine_type)
    if known is not None:
        return known
    cpu, memory = pool.machine.get("cpu"), pool.machine.get("memory")
    if cpu is None or memory is None or isinstance(cpu, Unlimited) or isinstance(memory, Unlimited):
        return None
    return Machine(-(-cpu // 1000), -(-memory // _GB))
