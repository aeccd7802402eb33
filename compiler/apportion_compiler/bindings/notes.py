"""Notes on a workload that can run: default sizes, and nodes that its pods may not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_compiler.bindings.binding import Binding
from apportion_compiler.engine_rules.workload_rules.provisioning import ANTI_AFFINITY_IGNORED
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.workload_shapes import Node, found, pod_sets
from apportion_policy.provisioning import QUEUED_PROVISIONING_GKE
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text


def disproportionate_request(
    program: Program, queue: Queue, model: str | None, *, gpus: int, cpu: int, memory: int
) -> Iterator[str]:
    """Yield a clause if pods get a much smaller part of a machine's cpu and memory than of its GPUs by default."""
    for pool in program.pools:
        devices = pool.machine.get(GPU)
        if (
            not gpus
            or pool.id not in queue.pools
            or model not in (None, pool.gpu_model)
            or not isinstance(devices, int)
            or devices < gpus
        ):
            continue
        shares = {
            resource: held * gpus // devices
            for resource in (CPU, MEMORY)
            if isinstance(held := pool.machine.get(resource), int)
        }
        if any(shares.get(resource, 0) >= 2 * amount for resource, amount in ((CPU, cpu), (MEMORY, memory))):
            share = " and ".join(amount_text(resource, amount) for resource, amount in shares.items())
            yield (
                f"each pod with {amount_text(GPU, gpus)} requests {amount_text(CPU, cpu)} and {amount_text(MEMORY, memory)}, "
                f"but its share of a machine in pool {pool.id} is {share}: pass --cpu and --memory to request more"
            )
            return


def ignored_anti_affinity(binding: Binding, workloads: Sequence[Node]) -> Iterator[str]:
    """Yield a clause if pods with mutual anti-affinity get nodes from queued provisioning."""
    if binding.plan is None or binding.plan.provisioning_class != QUEUED_PROVISIONING_GKE:
        return
    if any(found(pods.spec, "affinity", "podAntiAffinity") for workload in workloads for pods in pod_sets(workload)):
        yield ANTI_AFFINITY_IGNORED
