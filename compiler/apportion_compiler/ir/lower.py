"""PolicyGraph → Program: one cluster of the policy with every reference and every default resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from apportion_compiler.graph.declared_amounts import declared_amounts, pool_machine
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.preemptibility import is_preemptible
from apportion_compiler.graph.values import QueueValues
from apportion_compiler.ir import program as ir
from apportion_compiler.ir.inheritance import gpu_sharing, limit_ranges, queue_policies, usable_pools
from apportion_policy.cluster import Cluster, Environment
from apportion_policy.duration import parse_duration
from apportion_policy.identifiers import identity_of
from apportion_policy.limit_range import LimitRange
from apportion_policy.pool import NodePool
from apportion_policy.priority import PriorityClass
from apportion_policy.quantity import parse_memory
from apportion_policy.resources import CPU, GPU, MEMORY
from apportion_policy.source import SourceLocation


def lower(graph: PolicyGraph, scope: Scope) -> ir.Program:
    """Return the program of one cluster.

    Raises:
        ValueError: If the scope is the policy as written, which is not a cluster.
    """
    environment, cluster = scope.environment, scope.cluster
    if environment is None or cluster is None:
        raise ValueError("only the scope of a cluster can be lowered to the IR")
    pools = graph.pools_of(cluster)
    inherited = _Inherited(
        gpu_sharing(graph), usable_pools(graph, [pool.id for pool in pools]), limit_ranges(graph), queue_policies(graph)
    )
    queues = tuple(_queue(node, scope.values[node.id], graph, inherited) for node in graph.nodes.values())
    # A queue that declares one GPU model manages all GPUs.
    mentioned = {resource for queue in queues for resource in (*queue.guaranteed, *queue.limit)}
    managed = mentioned | {GPU for resource in mentioned if resource.startswith(f"{GPU}/")}
    return ir.Program(
        organisation=graph.policy.organisation.name,
        environment=environment.name,
        cluster=cluster.name,
        engine=cluster.engine.value,
        engine_version=cluster.engine_version,
        kubernetes_version=cluster.kubernetes_version,
        queues=queues,
        priority_classes=tuple(_priority_class(cls) for cls in _by_value(graph)),
        pools=tuple(_pool(pool, cluster) for pool in sorted(pools, key=lambda pool: pool.id)),
        plans=_plans(pools, graph),
        topologies=tuple(
            ir.Topology(t.name, t.levels, t.source) for t in sorted(cluster.topologies, key=lambda t: t.name)
        ),
        gpu_placement=cluster.placement.gpu.value,
        cpu_placement=cluster.placement.cpu.value,
        kai=_engine_settings(cluster, queues),
        kueue=cluster.kueue,
        volcano=cluster.volcano,
        ack=cluster.ack,
        unmanaged=tuple(resource for resource in (CPU, MEMORY, GPU) if resource not in managed),
        source=_source(environment, cluster),
        managed_elsewhere=cluster.managed_elsewhere,
        admission=environment.admission.value,
        share=Fraction(str(cluster.share)),
    )


class _Inherited(NamedTuple):
    """Values of each queue, its own or those of the nearest queue above it."""

    gpu_sharing: Mapping[str, bool]
    pools: Mapping[str, tuple[str, ...]]
    limit_ranges: Mapping[str, tuple[LimitRange, ...]]
    queue_policies: Mapping[str, str | None]


def _queue(node: Node, values: QueueValues, graph: PolicyGraph, inherited: _Inherited) -> ir.Queue:
    queue = node.queue
    return ir.Queue(
        id=node.id,
        title=queue.title,
        parent=node.parent,
        children=node.children,
        path=node.path,
        owner=graph.owners[node.id],
        namespaces=tuple(sorted(queue.namespaces)),
        users=tuple(
            ir.UserLimit(user.user, declared_amounts(user.limit, graph.declarations.pools), user.max_jobs)
            for user in sorted(queue.users, key=lambda user: user.user)
        ),
        guaranteed=values.guaranteed,
        limit=values.limit,
        lending_limit=values.lending_limit,
        weight=values.weight,
        priority=values.priority,
        preempt_min_runtime=values.preempt_min_runtime,
        reclaim_min_runtime=values.reclaim_min_runtime,
        gpu_sharing=inherited.gpu_sharing[node.id],
        pools=inherited.pools[node.id],
        priority_classes=tuple(cls.name for cls in graph.allowed_classes[node.id]),
        labels=queue.labels,
        source=queue.source,
        external_namespaces=tuple(sorted(queue.external_namespaces)),
        kueue=queue.kueue or ir.AS_THE_POLICY_SAYS,
        first_namespace=queue.namespaces[0] if queue.namespaces else None,
        default=queue.default,
        limit_ranges=inherited.limit_ranges[node.id],
        queue_policy=inherited.queue_policies[node.id],
    )


def _by_value(graph: PolicyGraph) -> list[PriorityClass]:
    return sorted(graph.declarations.priority_classes.values(), key=lambda cls: (cls.value, cls.name))


def _priority_class(cls: PriorityClass) -> ir.PriorityClass:
    return ir.PriorityClass(
        name=cls.name,
        value=cls.value,
        preemptible=is_preemptible(cls),
        global_default=cls.global_default,
        description=cls.description,
        installed_by_engine=cls.installed_by_engine,
        source=cls.source,
    )


def _pool(pool: NodePool, cluster: Cluster) -> ir.NodePool:
    placement, gpu = pool.placement or cluster.placement, pool.accelerator
    return ir.NodePool(
        id=pool.id,
        provider=pool.provider.kind,
        settings=pool.provider,
        machine_type=pool.machine_type,
        gpu_model=gpu.model if gpu is not None else None,
        accelerator_name=gpu.provider_name if gpu is not None else None,
        n_gpus=gpu.count if gpu is not None else 0,
        gpu_memory=parse_memory(gpu.memory) if gpu is not None and gpu.memory is not None else None,
        machine=pool_machine(pool),
        min_nodes=pool.min_nodes,
        max_nodes=pool.max_nodes,
        labels=dict(sorted(pool.labels.items())),
        taints=tuple(ir.Taint(t.key, t.value, t.effect.value) for t in pool.taints),
        gpu_placement=placement.gpu.value,
        cpu_placement=placement.cpu.value,
        sharing=pool.sharing,
        plan=None if pool.provisioning is None else identity_of(pool.provisioning),
        spot=pool.spot,
        zones=pool.zones,
        maintenance=pool.maintenance,
        reservation=pool.reservation,
        topology=pool.topology,
        source=pool.source,
    )


def _plans(pools: Sequence[NodePool], graph: PolicyGraph) -> tuple[ir.ProvisioningPlan, ...]:
    named = {identity_of(pool.provisioning) for pool in pools if pool.provisioning is not None}
    return tuple(
        ir.ProvisioningPlan(
            id=plan.id,
            provisioning_class=plan.provisioning_class,
            max_run_duration=_seconds(plan.max_run_duration),
            max_nodes_per_request=plan.max_nodes_per_request,
            retry_limit=plan.retry_limit,
            retry_backoff_base=_seconds(plan.retry_backoff_base),
            retry_backoff_max=_seconds(plan.retry_backoff_max),
            parameters=dict(sorted(plan.parameters.items())),
            source=plan.source,
        )
        for plan in (graph.declarations.plans[id_] for id_ in sorted(named))
    )


def _engine_settings(cluster: Cluster, queues: tuple[ir.Queue, ...]) -> ir.EngineSettings:
    kai, live = cluster.kai, cluster.kai.live_scheduler
    wanted = any(queue.gpu_sharing for queue in queues)
    return ir.EngineSettings(
        scheduler_name=kai.scheduler_name,
        k_value=None if kai.k_value is None else str(kai.k_value),
        preempt_min_runtime=_seconds(kai.preempt_min_runtime),
        reclaim_min_runtime=_seconds(kai.reclaim_min_runtime),
        queue_depth_per_action=dict(sorted(kai.queue_depth_per_action.items())),
        max_consolidation_preemptees=kai.max_consolidation_preemptees,
        gpu_sharing=wanted if kai.gpu_sharing is None else kai.gpu_sharing,
        emit_installed_priority_classes=kai.emit_installed_priority_classes,
        full_hierarchy_fairness=kai.full_hierarchy_fairness,
        live_scheduler=None if live is None else ir.LiveScheduler(live.reservation_image),
    )


def _seconds(duration: object) -> int | None:
    return None if duration is None else parse_duration(str(duration))


def _source(environment: Environment, cluster: Cluster) -> SourceLocation:
    return cluster.source if cluster.source.line else environment.source
