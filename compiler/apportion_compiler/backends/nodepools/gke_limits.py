"""Limits of GKE's node auto-provisioning for the whole cluster, including pools that were created manually."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_compiler.backends.pool_labels import gke_accelerator
from apportion_compiler.ir.program import NodePool
from apportion_compiler.machine_types import Machine, gke_machine
from apportion_policy.quantity import Unlimited

_GB = 10**9


def auto_provisioning_limits(pools: Sequence[NodePool]) -> Mapping[str, int]:
    """Return the most of each resource: cores, GB of memory, and devices by the provider's name for them.

    A machine whose size is not known counts with what the policy says that workloads can use of it, which is less:
    a limit is left out where not even that is said.
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
