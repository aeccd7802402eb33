"""All named objects of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from apportion_policy.policy import Policy
from apportion_policy.queue import Queue
from apportion_policy.source import SourceLocation


class NamedObject(NamedTuple):
    """An object: `name` as written in `field`, unique among objects of its `kind` in its `home`.

    `home` is the address of its container; empty for the policy itself.
    """

    kind: str
    name: str
    at: SourceLocation
    field: str = "id"
    home: str = ""

    @property
    def address(self) -> str:
        """The address in findings; that of a cluster includes its environment."""
        path = f"{self.home.partition(' ')[2]}/" if self.kind == "cluster" else ""
        return f"{self.kind} {path}{self.name}"


def named_objects(policy: Policy, queues: Iterable[Queue]) -> Iterator[NamedObject]:
    """Yield queues, node pools, priority classes, provisioning plans, environments, clusters and topologies."""
    for queue in queues:
        yield NamedObject("queue", queue.id, queue.source)
    for pool in policy.node_pools:
        yield NamedObject("node pool", pool.id, pool.source)
    for cls in policy.priority_classes:
        yield NamedObject("priority class", cls.name, cls.source, "name")
    for plan in policy.provisioning_plans:
        yield NamedObject("provisioning plan", plan.id, plan.source)
    for environment in policy.environments:
        stage = NamedObject("environment", environment.name, environment.source, "name")
        yield stage
        for cluster in environment.clusters:
            place = NamedObject("cluster", cluster.name, cluster.source, "name", stage.address)
            yield place
            for topology in cluster.topologies:
                yield NamedObject("topology", topology.name, topology.source, "name", place.address)
