"""Conversion of a valid policy to facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.preemptibility import is_preemptible
from apportion_compiler.graph.values import WEIGHTED, QueueValues, in_force
from apportion_compiler.ir.effective_limits import smaller_limits
from apportion_compiler.ir.inheritance import gpu_sharing, limit_ranges, usable_pools
from apportion_policy.declaration import Declaration
from apportion_policy.identifiers import identity_of
from apportion_policy.quantity import Amount, parse_weight
from apportion_policy.queue import Queue
from apportion_policy.resources import Weight
from apportion_policy.source import SourceLocation
from apportion_review.facts import (
    CLASS,
    CLUSTER,
    DECLARED,
    EFFECTIVE_LIMIT,
    ENVIRONMENT,
    ENVIRONMENT_OVERRIDE,
    ORGANISATION,
    OVERRIDE,
    PLAN,
    POOL,
    QUEUE,
    RULES,
    WAIVER,
    Fact,
    Facts,
    Value,
    flattened,
)

_AMOUNTS = ("guaranteed", "limit", "lending_limit")
_RUNTIMES = ("preempt_min_runtime", "reclaim_min_runtime")
_PER_CLUSTER = (*_AMOUNTS, *_RUNTIMES, "over_quota_weight", "priority")
# Fields that are resolved through the tree, renamed, or separate facts.
_RESOLVED = (
    "id",
    "children",
    "parent",
    "owner",
    "overrides",
    "gpu_sharing",
    "pools",
    "priority_classes",
    "limit_ranges",
)


def facts_of(graph: PolicyGraph) -> Facts:
    """Return the facts of a policy with a valid structure."""
    gathered = _Gathered(graph)
    gathered.policy()
    gathered.queues()
    for scope in graph.scopes or (graph.base,):
        gathered.values_on(scope)
    return gathered.facts()


class _Gathered:
    """Collects facts."""

    def __init__(self, graph: PolicyGraph) -> None:
        self._graph = graph
        self._pools = graph.declarations.pools
        self._values: dict[Fact, Value] = {}
        self._locations: dict[tuple[str, str], SourceLocation] = {}
        self._filled: set[Fact] = set()

    def facts(self) -> Facts:
        """Return the collected facts."""
        return Facts(
            self._values,
            self._locations,
            tuple(scope.name for scope in self._graph.scopes if scope.name is not None),
            frozenset(self._filled),
            {id_: node.parent for id_, node in self._graph.nodes.items()},
        )

    def policy(self) -> None:
        """Collect all facts except those of queues."""
        policy = self._graph.policy
        self._object(ORGANISATION, "", policy.organisation)
        for pool in self._pools.values():
            self._object(POOL, pool.id, pool, ("id",))
        for cls in self._graph.declarations.priority_classes.values():
            self._object(CLASS, cls.name, cls, ("name", "preemptible"))
            self._add(Fact(CLASS, cls.name, "", ("preemptible",)), is_preemptible(cls))
        for plan in self._graph.declarations.plans.values():
            self._object(PLAN, plan.id, plan, ("id",))
        self._object(RULES, "", policy.rules)
        for waiver in policy.waivers:
            self._object(WAIVER, f"{waiver.code} of {waiver.address}", waiver, ("code", "address"))
        for environment in policy.environments:
            self._object(ENVIRONMENT, environment.name, environment, ("name", "clusters", "overrides"))
            for cluster in environment.clusters:
                self._object(CLUSTER, f"{environment.name}/{cluster.name}", cluster, ("name",))
            for override in environment.overrides:
                where = "".join(f"/{name}" for name in override.clusters or ())
                name = self._unused(ENVIRONMENT_OVERRIDE, f"{identity_of(override.queue)} in {environment.name}{where}")
                self._object(ENVIRONMENT_OVERRIDE, name, override, ("queue",))

    def queues(self) -> None:
        """Collect the facts of queues on every cluster, including inherited values."""
        sharing, ranges = gpu_sharing(self._graph), limit_ranges(self._graph)
        for id_, node in self._graph.nodes.items():
            queue, above = node.queue, node.parent
            self._object(QUEUE, id_, queue, (*_RESOLVED, *_PER_CLUSTER))
            resolved = {
                "parent": above,
                "owner": self._graph.owners[id_],
                "gpu_sharing": sharing[id_],
                "priority_classes": tuple(cls.name for cls in self._graph.allowed_classes[id_]),
                "limit_ranges": ranges[id_],
                DECLARED: {**{field: getattr(queue, field) for field in (*_PER_CLUSTER, "pools")}, **_weights(queue)},
            }
            for field, value in flattened(resolved, self._pools):
                self._add(Fact(QUEUE, id_, "", field), value)
            self._overrides(node)

    def _overrides(self, node: Node) -> None:
        for override in node.queue.overrides:
            name = self._unused(OVERRIDE, f"{node.id} from {override.begin} to {override.end}")
            self._object(OVERRIDE, name, override)
            environments = self._graph.policy.environments
            holds = any(override in in_force(node.queue, self._graph.as_of, e) for e in (None, *environments))
            self._add(Fact(OVERRIDE, name, "", ("in_force",)), holds)

    def values_on(self, scope: Scope) -> None:
        """Collect the effective values on one cluster."""
        name = scope.name or ""
        usable = None if scope.cluster is None else frozenset(map(identity_of, scope.cluster.pools))
        pools = usable_pools(self._graph, usable)
        limits: dict[str, Mapping[str, Amount]] = {}
        for id_, node in self._graph.nodes.items():
            values = scope.values[id_]
            limits[id_] = smaller_limits(values.limit, limits[node.parent] if node.parent is not None else {})
            for field, value in _in_force(values, limits[id_], pools[id_]):
                fact = Fact(QUEUE, id_, name, field)
                self._values[fact] = value
                if field[0] == "guaranteed" and field[1] not in values.declared:
                    self._filled.add(fact)

    def _object(self, kind: str, name: str, declaration: Declaration, without: tuple[str, ...] = ()) -> None:
        self._values[Fact(kind, name, "", ())] = True
        self._locations[kind, name] = declaration.source
        for field in type(declaration).model_fields:
            if field not in without:
                for path, value in flattened(getattr(declaration, field), self._pools, (field,)):
                    self._values[Fact(kind, name, "", path)] = value

    def _add(self, fact: Fact, value: Value) -> None:
        self._values[fact] = value

    def _unused(self, kind: str, name: str) -> str:
        """Return the name, numbered if another object has it."""
        number, unused = 1, name
        while (kind, unused) in self._locations:
            number += 1
            unused = f"{name} ({number})"
        return unused


def _weights(queue: Queue) -> Mapping[str, Mapping[str, int]]:
    """Return the weight of each resource, if a single weight is declared."""
    weight = queue.over_quota_weight
    if weight is None or isinstance(weight, Weight):
        return {}
    return {"over_quota_weight": dict.fromkeys(WEIGHTED, parse_weight(weight))}


def _in_force(
    values: QueueValues, limit: Mapping[str, Amount], pools: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Value]]:
    for resource, amount in values.guaranteed.items():
        yield ("guaranteed", resource), amount
    for resource, amount in values.limit.items():
        yield ("limit", resource), amount
    for resource, amount in limit.items():
        yield (EFFECTIVE_LIMIT, resource), amount
    for resource, amount in values.lending_limit.items():
        yield ("lending_limit", resource), amount
    for resource, weight in values.weight.items():
        yield ("over_quota_weight", resource), weight
    if values.priority is not None:
        yield ("priority",), values.priority
    if values.preempt_min_runtime is not None:
        yield ("preempt_min_runtime",), values.preempt_min_runtime
    if values.reclaim_min_runtime is not None:
        yield ("reclaim_min_runtime",), values.reclaim_min_runtime
    yield ("pools",), pools
