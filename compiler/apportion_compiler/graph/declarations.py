"""The declarations of a policy, flattened and indexed, before validation.

Structure checks (AP1xx) evaluate these; if they report no error, `graph.build_graph` can rely on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from apportion_compiler.graph.named_objects import NamedObject, named_objects
from apportion_policy.cluster import Cluster, Environment
from apportion_policy.identifiers import identity_of
from apportion_policy.policy import Policy
from apportion_policy.pool import NodePool
from apportion_policy.priority import PriorityClass
from apportion_policy.provisioning import ProvisioningPlan
from apportion_policy.queue import Queue

if TYPE_CHECKING:
    import networkx as nx


class DeclaredQueue(NamedTuple):
    """A queue and the id of its parent, from nesting or from `parent`.

    `conflicting_parent` is set if a nested queue also names another parent.
    """

    queue: Queue
    parent: str | None
    conflicting_parent: str | None = None


@dataclass(frozen=True)
class Declarations:
    """A policy's declarations by identity. The first of duplicate declarations is used."""

    policy: Policy
    queues: tuple[DeclaredQueue, ...]

    @cached_property
    def by_id(self) -> Mapping[str, DeclaredQueue]:
        """Queues by id, in order of declaration."""
        by_id: dict[str, DeclaredQueue] = {}
        for declared in self.queues:
            by_id.setdefault(declared.queue.id, declared)
        return by_id

    @cached_property
    def named(self) -> tuple[NamedObject, ...]:
        """All named objects."""
        return tuple(named_objects(self.policy, (declared.queue for declared in self.queues)))

    @cached_property
    def tree(self) -> nx.DiGraph[str]:
        """Edges from parent to child, for existing parents; may contain cycles."""
        # Imported here, because only faulty policies need it, and the import takes longer than most checks.
        import networkx as nx

        tree: nx.DiGraph[str] = nx.DiGraph()
        tree.add_nodes_from(self.by_id)
        tree.add_edges_from(
            (d.parent, id_) for id_, d in self.by_id.items() if d.parent is not None and d.parent in self.by_id
        )
        return tree

    @cached_property
    def pools(self) -> Mapping[str, NodePool]:
        """Node pools by id."""
        return {pool.id: pool for pool in reversed(self.policy.node_pools)}

    @cached_property
    def priority_classes(self) -> Mapping[str, PriorityClass]:
        """Priority classes by name."""
        return {cls.name: cls for cls in reversed(self.policy.priority_classes)}

    @cached_property
    def plans(self) -> Mapping[str, ProvisioningPlan]:
        """Provisioning plans by id."""
        return {plan.id: plan for plan in reversed(self.policy.provisioning_plans)}

    @cached_property
    def environments(self) -> Mapping[str, Environment]:
        """Environments by name."""
        return {environment.name: environment for environment in reversed(self.policy.environments)}

    @cached_property
    def clusters(self) -> tuple[tuple[Environment, Cluster], ...]:
        """Every cluster with its environment, in order of declaration."""
        return tuple((e, c) for e in self.policy.environments for c in e.clusters)


def declare(policy: Policy) -> Declarations:
    """Flatten nested queues in the order of declaration, parents before their nested children."""
    return Declarations(policy, tuple(_flatten(policy)))


def _flatten(policy: Policy) -> Iterator[DeclaredQueue]:
    stack: list[tuple[Queue, str | None]] = [(queue, None) for queue in reversed(policy.queues)]
    while stack:
        queue, nested_in = stack.pop()
        named = identity_of(queue.parent) if queue.parent is not None else None
        conflicting = named if nested_in is not None and named not in (None, nested_in) else None
        yield DeclaredQueue(queue, nested_in if nested_in is not None else named, conflicting)
        stack.extend((child, queue.id) for child in reversed(queue.children))
