"""Karpenter: a NodePool for each pool, and the EC2NodeClass of its machines.

The CRDs are karpenter.sh/v1 at 226646810 and karpenter.k8s.aws/v1 at 1d92708, with their CEL rules: a static pool has
`replicas` and no limit other than `limits.nodes`; a class has exactly one of `role` and `instanceProfile`, an AMI alias
excludes other terms, and all three selectors are required. `replicas` cannot be added or removed later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE, ZONE_LABEL
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.nodepools.budgets import disruption_budgets
from apportion_compiler.backends.pool_labels import set_labels
from apportion_compiler.ir.program import NodePool, Program
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.pool_label_keys import INSTANCE_TYPE_LABEL, KARPENTER_GPU_LABEL
from apportion_policy.providers import Karpenter

NODE_POOL_API = "karpenter.sh/v1"
NODE_CLASS_GROUP = "karpenter.k8s.aws"
NODE_CLASS_API = f"{NODE_CLASS_GROUP}/v1"
NODE_CLASS = "EC2NodeClass"

_GPU = GPU_RESOURCE

KarpenterPool = tuple[NodePool, Karpenter]


def node_classes(program: Program, pools: Sequence[KarpenterPool]) -> Iterator[Manifest]:
    """Yield each class that the policy describes completely; a class that is only referenced is managed elsewhere."""
    by_class: dict[str, list[KarpenterPool]] = {}
    for pool, settings in pools:
        by_class.setdefault(settings.node_class, []).append((pool, settings))
    for name, members in by_class.items():
        described = next(((pool, settings) for pool, settings in members if is_described(settings)), None)
        if described is not None:
            yield _node_class(program, name, described, [pool for pool, _ in members])


def node_pool(program: Program, pool: NodePool, settings: Karpenter) -> Manifest:
    """Return the NodePool. Its labels bind workloads of the queues to its machines."""
    template = {
        "metadata": {"labels": dict(set_labels(program, pool))},
        "spec": {
            "nodeClassRef": {"group": NODE_CLASS_GROUP, "kind": NODE_CLASS, "name": settings.node_class},
            "requirements": _requirements(pool),
            **({"taints": _taints(pool)} if pool.taints else {}),
            "expireAfter": settings.expire_after,
        },
    }
    spec: dict[str, object] = {"template": template, "disruption": _disruption(pool, settings), "limits": _limits(pool)}
    if settings.static_nodes:
        spec = {"replicas": pool.min_nodes, **spec, "limits": {"nodes": str(pool.max_nodes)}}
    return {
        "apiVersion": NODE_POOL_API,
        "kind": "NodePool",
        "metadata": metadata(program, object_name(pool.id), pool.source),
        "spec": spec,
    }


def is_described(settings: Karpenter) -> bool:
    """Return whether a pool contains everything that a node class requires."""
    return bool(settings.role and settings.ami_alias and settings.subnet_tags and settings.security_group_tags)


def _node_class(program: Program, name: str, described: KarpenterPool, pools: Sequence[NodePool]) -> Manifest:
    pool, settings = described
    spec: dict[str, object] = {
        "role": settings.role,
        "amiSelectorTerms": [{"alias": settings.ami_alias}],
        "subnetSelectorTerms": [{"tags": dict(sorted(settings.subnet_tags.items()))}],
        "securityGroupSelectorTerms": [{"tags": dict(sorted(settings.security_group_tags.items()))}],
    }
    reservations = sorted({member.reservation for member in pools if member.reservation is not None})
    if reservations:
        spec["capacityReservationSelectorTerms"] = [{"id": reservation} for reservation in reservations]
    return {
        "apiVersion": NODE_CLASS_API,
        "kind": NODE_CLASS,
        "metadata": metadata(program, name, pool.source),
        "spec": spec,
    }


def _requirements(pool: NodePool) -> list[dict[str, object]]:
    capacity = "reserved" if pool.reservation is not None else "spot" if pool.spot else "on-demand"
    wanted: list[tuple[str, Sequence[str]]] = [("karpenter.sh/capacity-type", (capacity,))]
    if pool.machine_type is not None:
        wanted.append((INSTANCE_TYPE_LABEL, (pool.machine_type,)))
    elif pool.n_gpus:
        # Without a machine type, the GPUs must still be of the model that quotas count.
        wanted.append((KARPENTER_GPU_LABEL, (pool.accelerator_name or str(pool.gpu_model),)))
        wanted.append(("karpenter.k8s.aws/instance-gpu-count", (str(pool.n_gpus),)))
    if pool.zones:
        wanted.append((ZONE_LABEL, pool.zones))
    return [{"key": key, "operator": "In", "values": list(values)} for key, values in wanted]


def _taints(pool: NodePool) -> list[dict[str, str]]:
    return [
        {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
        for taint in pool.taints
    ]


def _limits(pool: NodePool) -> dict[str, str]:
    limits = {"nodes": str(pool.max_nodes)}
    if pool.n_gpus:
        limits[_GPU] = str(pool.max_nodes * pool.n_gpus)
    return limits


def _disruption(pool: NodePool, settings: Karpenter) -> dict[str, object]:
    disruption: dict[str, object] = {
        "consolidationPolicy": settings.consolidation,
        "consolidateAfter": settings.consolidate_after,
    }
    budgets = disruption_budgets(pool.maintenance)
    if budgets:
        disruption["budgets"] = budgets
    return disruption
