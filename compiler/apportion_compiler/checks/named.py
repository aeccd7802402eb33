"""Every object of a policy that has a name of its own, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apportion_compiler.graph.declarations import Declarations
from apportion_policy.source import SourceLocation


@dataclass(frozen=True, slots=True)
class Named:
    """An object: `name` as its author wrote it in `field`, unique among objects of its `kind` in `within`."""

    kind: str
    name: str
    at: SourceLocation
    field: str
    address: str
    within: str = "the policy"


def named_objects(declarations: Declarations) -> Iterator[Named]:
    """Yield queues, node pools, priority classes, provisioning plans, environments, clusters and topologies."""
    policy = declarations.policy
    for declared in declarations.queues:
        queue = declared.queue
        yield Named("queue", queue.id, queue.source, "id", f"queue {queue.id}")
    for pool in policy.node_pools:
        yield Named("node pool", pool.id, pool.source, "id", f"node pool {pool.id}")
    for cls in policy.priority_classes:
        yield Named("priority class", cls.name, cls.source, "name", f"priority class {cls.name}")
    for plan in policy.provisioning_plans:
        yield Named("provisioning plan", plan.id, plan.source, "id", f"provisioning plan {plan.id}")
    for environment in policy.environments:
        stage = f"environment {environment.name}"
        yield Named("environment", environment.name, environment.source, "name", stage)
        for cluster in environment.clusters:
            scope = f"{environment.name}/{cluster.name}"
            yield Named("cluster", cluster.name, cluster.source, "name", f"cluster {scope}", stage)
            for topology in cluster.topologies:
                yield Named(
                    "topology", topology.name, topology.source, "name", f"topology {topology.name}", f"cluster {scope}"
                )
