"""The valid tree of queues with its values in every scope: the policy as written, and each cluster of each environment.

The input of all phases after the structure checks. Values are exact integers in base units (millicores, bytes,
thousandths of a GPU) or UNLIMITED; `values.py` sets defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property

from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.values import QueueValues, has_no_effect, scope_values
from apportion_policy.cluster import Cluster, Environment
from apportion_policy.identifiers import identity_of
from apportion_policy.policy import Policy
from apportion_policy.pool import NodePool
from apportion_policy.priority import PriorityClass


@dataclass(frozen=True, slots=True)
class Scope:
    """The values of every queue in one scope: as written (`environment` is None), or on one cluster.

    `values` is in tree order, parents first.
    """

    environment: Environment | None
    cluster: Cluster | None
    values: Mapping[str, QueueValues]

    @property
    def name(self) -> str | None:
        """`prod/gpu-1`; None for the policy as written."""
        if self.environment is None or self.cluster is None:
            return None
        return f"{self.environment.name}/{self.cluster.name}"

    @property
    def share(self) -> Fraction:
        """The cluster's share of each guarantee; 1 for the policy as written."""
        return Fraction(1) if self.cluster is None else Fraction(str(self.cluster.share))


@dataclass(frozen=True)
class PolicyGraph:
    """A policy with a valid structure; `only` names the clusters to which `scopes` is restricted, if it is."""

    declarations: Declarations
    nodes: Mapping[str, Node]
    as_of: date
    only: frozenset[str] | None = None

    @property
    def policy(self) -> Policy:
        """The declaration from which it was built."""
        return self.declarations.policy

    @cached_property
    def base(self) -> Scope:
        """Values as written, with the overrides in force on `as_of` that apply in every environment."""
        return Scope(None, None, scope_values(self.nodes, self.declarations, self.as_of, None, None))

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """One scope for each cluster of each environment, in order of declaration."""
        return tuple(
            self._scope_of(e, c)
            for e, c in self.declarations.clusters
            if self.only is None or f"{e.name}/{c.name}" in self.only
        )

    def restricted_to(self, clusters: Iterable[str]) -> PolicyGraph:
        """Return the graph with the scopes of only some clusters, such as `prod/gpu-1`; declarations are the same."""
        return replace(self, only=frozenset(clusters))

    def _scope_of(self, environment: Environment, cluster: Cluster) -> Scope:
        if has_no_effect(self.nodes, self.declarations, environment, cluster):
            return Scope(environment, cluster, self.base.values)
        return Scope(
            environment, cluster, scope_values(self.nodes, self.declarations, self.as_of, environment, cluster)
        )

    @cached_property
    def distinct_scopes(self) -> tuple[Scope, ...]:
        """The base scope, then the clusters with different values of some queue: enough to find every fault once."""
        return (self.base, *(scope for scope in self.scopes if scope.values is not self.base.values))

    def scope(self, environment: str, cluster: str) -> Scope:
        """Return the scope of one cluster. Raises `KeyError` if the policy has no such cluster."""
        return next(
            s
            for s in self.scopes
            if s.environment is not None
            and s.cluster is not None
            and (s.environment.name, s.cluster.name) == (environment, cluster)
        )

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """Leaves in tree order."""
        return tuple(node for node in self.nodes.values() if node.is_leaf)

    @cached_property
    def inner(self) -> tuple[Node, ...]:
        """Queues with children, in tree order."""
        return tuple(node for node in self.nodes.values() if node.children)

    @cached_property
    def roots(self) -> tuple[Node, ...]:
        """Top-level queues in order."""
        return tuple(node for node in self.nodes.values() if node.parent is None)

    def pools_of(self, cluster: Cluster) -> tuple[NodePool, ...]:
        """Return a cluster's node pools in order of declaration."""
        return tuple(self.declarations.pools[identity_of(ref)] for ref in cluster.pools)

    @cached_property
    def owners(self) -> Mapping[str, str | None]:
        """Each queue's owner: its own, the nearest ancestor's, or the organisation's."""
        owners: dict[str, str | None] = {}
        for node in self.nodes.values():
            inherited = owners[node.parent] if node.parent is not None else self.policy.organisation.owner
            owners[node.id] = node.queue.owner or inherited
        return owners

    @cached_property
    def allowed_classes(self) -> Mapping[str, tuple[PriorityClass, ...]]:
        """Priority classes of each queue's workloads: allowed by the queue and not restricted by the class."""
        classes = self.declarations.priority_classes
        by_queue: dict[str, tuple[PriorityClass, ...]] = {}
        named: dict[str, tuple[str, ...] | None] = {}
        reach = {
            name: None if cls.queues is None else frozenset(identity_of(ref) for ref in cls.queues)
            for name, cls in classes.items()
        }
        ordered = sorted(classes.values(), key=lambda cls: (cls.value, cls.name))
        # Most queues may use the same classes, so they share a tuple for each combination of allowed and restricted
        # classes.
        limited = [(cls.name, queues) for cls in ordered if (queues := reach[cls.name]) is not None]
        shared: dict[tuple[tuple[str, ...] | None, tuple[str, ...]], tuple[PriorityClass, ...]] = {}
        for node in self.nodes.values():
            own = node.queue.priority_classes
            inherited = named[node.parent] if node.parent is not None else None
            names = tuple(identity_of(ref) for ref in own) if own is not None else inherited
            named[node.id] = names
            out_of_reach = tuple([name for name, queues in limited if queues.isdisjoint(node.path)]) if limited else ()
            allowed = shared.get((names, out_of_reach))
            if allowed is None:
                allowed = shared[names, out_of_reach] = tuple(
                    cls for cls in ordered if (names is None or cls.name in names) and cls.name not in out_of_reach
                )
            by_queue[node.id] = allowed
        return by_queue


def build_graph(declarations: Declarations, as_of: date) -> PolicyGraph:
    """Build the tree of declarations that passed the structure checks.

    Children are ordered by id, so that the order of declaration does not affect the output.
    """
    by_id = declarations.by_id
    below: dict[str | None, list[str]] = {}
    for id_, declared in by_id.items():
        below.setdefault(declared.parent, []).append(id_)
    for siblings in below.values():
        siblings.sort(reverse=True)
    nodes: dict[str, Node] = {}
    stack: list[tuple[str, tuple[str, ...]]] = [(root, ()) for root in below.get(None, ())]
    while stack:
        id_, above = stack.pop()
        children = below.get(id_, [])
        path = (*above, id_)
        nodes[id_] = Node(id_, by_id[id_].queue, above[-1] if above else None, tuple(reversed(children)), path)
        stack += [(child, path) for child in children]
    return PolicyGraph(declarations, nodes, as_of)
