"""The values of each queue in one scope, and the defaults of unset values.

* An unset guarantee is 0 for a leaf and the sum of the children for an inner queue.
* An unset limit means no limit of its own; the nearest ancestor's applies.
* An unset weight is 1. An unset priority is the engine's default.
* Guarantees and lending limits scaled by a cluster's share are rounded down to whole units, and limits up: GPUs stay
  whole if they were declared whole. Each GPU model is rounded separately, and a total of GPUs is the sum of its models,
  with the part without a model rounded separately: scaling creates no GPU without a model.
* An amount of a GPU model applies on clusters whose pools have the model. A guarantee by model is 0 for omitted models;
  a limit by model applies to the listed models, and to the total only if it lists all of them.

Order of precedence: the queue, then the environment's override, then its override for the cluster, then the time-boxed
override in force. Each changes only the values that it sets (`override_merge.py`), before the cluster's share is
applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.declared_amounts import GPU_MODEL_PREFIX, AmountCounter, declared_amounts
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.override_merge import AMOUNT_FIELDS, overridden, overridden_weight
from apportion_compiler.graph.scope_amounts import ScopeAmounts, gpu_models
from apportion_policy.cluster import Cluster, Environment, QueueOverride
from apportion_policy.duration import parse_duration
from apportion_policy.identifiers import identity_of
from apportion_policy.pool import NodePool
from apportion_policy.quantity import Amount, parse_weight, total
from apportion_policy.queue import Override, Queue
from apportion_policy.resources import CPU, GPU, MEMORY, Resources, Weight, gpu_resource
from apportion_policy.source import SourceLocation

DEFAULT_WEIGHT = 1000
WEIGHTED = (CPU, MEMORY, GPU)
_DEFAULT_WEIGHTS: Mapping[str, int] = dict.fromkeys(WEIGHTED, DEFAULT_WEIGHT)


class QueueValues(NamedTuple):
    """A queue's values in one scope, in base units.

    `guaranteed` has every managed resource and, for queues that count by model, a key for each model in addition to the
    total `gpu`. `limit` and `lending_limit` have the declared amounts; a missing key is unlimited. `declared` are the
    resources with a declared guarantee; the others are defaults. `sources` has the location of each field that is not
    set on the queue itself, and for amounts also of each resource (`limit/cpu`). Minimum runtimes are seconds.
    """

    id: str
    guaranteed: Mapping[str, Amount]
    limit: Mapping[str, Amount]
    lending_limit: Mapping[str, Amount]
    declared: frozenset[str]
    weight: Mapping[str, int]
    priority: int | None
    preempt_min_runtime: int | None
    reclaim_min_runtime: int | None
    sources: Mapping[str, SourceLocation]


def scope_values(
    nodes: Mapping[str, Node],
    declarations: Declarations,
    as_of: date,
    environment: Environment | None,
    cluster: Cluster | None,
) -> dict[str, QueueValues]:
    """Return the values of every queue in a scope, in the order of `nodes` (parents before children)."""
    pools = declarations.pools
    by_environment: dict[str, list[QueueOverride]] = {}
    for override in _environment_overrides(environment, cluster):
        by_environment.setdefault(identity_of(override.queue), []).append(override)

    counter, here = AmountCounter(pools), ScopeAmounts(cluster, pools)
    drafts: dict[str, _Draft] = {}
    written: dict[str, Mapping[str, Amount]] = {}
    for id_, node in nodes.items():
        draft = _draft(node.queue, by_environment.get(id_, ()), in_force(node.queue, as_of, environment), counter)
        written[id_] = here.present(draft.guaranteed)
        draft.guaranteed = here.guaranteed(draft.guaranteed)
        draft.limit = here.bound(draft.limit)
        draft.lending = here.bound(draft.lending, round_up=False)
        drafts[id_] = draft
    managed = here.managed
    # Parents precede their children, so reverse order sums every child before its parent.
    filled: dict[str, Mapping[str, Amount]] = {}
    of_leaf: dict[int, Mapping[str, Amount]] = {}
    by_model: dict[str, Mapping[str, Amount]] = {}
    whole: dict[str, Mapping[str, Amount]] = {}
    for id_ in reversed(tuple(nodes)):
        children, declared = nodes[id_].children, drafts[id_].guaranteed
        if here.scales:
            by_model[id_] = _models_of(written[id_], [by_model[child] for child in children])
        if children:
            if here.scales:
                below = [whole[child] for child in children]
                whole[id_] = {**_summed(below), **written[id_]}
                declared = here.with_models(written[id_], declared, by_model[id_])
                declared = _without_remainder(declared, written[id_], _summed(below))
            filled[id_] = _fill(declared, [filled[child] for child in children], managed)
        else:
            whole[id_] = written[id_]
            alike = of_leaf.get(id(declared))
            filled[id_] = alike or of_leaf.setdefault(id(declared), _fill(declared, [], managed))
    return {id_: drafts[id_].finished(id_, filled[id_]) for id_ in nodes}


_DIVISIBLE = (CPU, MEMORY)
"""Resources whose unit is so small that rounding remainders are negligible."""


def _summed(below: Sequence[Mapping[str, Amount]]) -> dict[str, Amount]:
    return {r: total(amounts.get(r, 0) for amounts in below) for r in _DIVISIBLE if any(r in a for a in below)}


def _without_remainder(
    declared: Mapping[str, Amount], written: Mapping[str, Amount], below: Mapping[str, Amount]
) -> Mapping[str, Amount]:
    """Remove rounding remainders of a guarantee that descendants use completely, so that it remains their sum."""
    return {r: a for r, a in declared.items() if r not in _DIVISIBLE or written.get(r) != below.get(r, 0)}


def _environment_overrides(environment: Environment | None, cluster: Cluster | None) -> list[QueueOverride]:
    """Return the overrides of an environment that apply in a scope: those of all clusters before those of this one."""
    if environment is None:
        return []
    here = "" if cluster is None else cluster.name
    held = [override for override in environment.overrides if override.clusters is None or here in override.clusters]
    return sorted(held, key=lambda override: override.clusters is not None)


def has_no_effect(
    nodes: Mapping[str, Node], declarations: Declarations, environment: Environment, cluster: Cluster
) -> bool:
    """Return whether every queue has the same values on a cluster as written."""
    if str(cluster.share) != "1" or environment.overrides:
        return False
    if any(override.environments is not None for node in nodes.values() for override in node.queue.overrides):
        return False
    named = _named_models(nodes, declarations.pools)
    here, anywhere = (gpu_models(place, declarations.pools) for place in (cluster, None))
    return not named or (here == anywhere and (here is None or here >= named))


def _named_models(nodes: Mapping[str, Node], pools: Mapping[str, NodePool]) -> frozenset[str]:
    written: list[Queue | Override] = []
    for node in nodes.values():
        written.append(node.queue)
        written.extend(node.queue.overrides)
    declared = (
        resources
        for declaration in written
        for resources in (declaration.guaranteed, declaration.limit, declaration.lending_limit)
        if resources is not None
    )
    models: set[str] = set()
    for resources in declared:
        if type(resources.gpu) is not str and isinstance(resources.gpu, Mapping):
            models.update(gpu_resource(model) for model in resources.gpu)
        elif resources.machines is not None:
            models.update(r for r in declared_amounts(resources, pools) if r.startswith(GPU_MODEL_PREFIX))
    return frozenset(models)


def in_force(queue: Queue, as_of: date, environment: Environment | None) -> tuple[Override, ...]:
    """Return the queue's overrides that are active on a date in an environment, or in all environments."""
    if not queue.overrides:
        return ()
    return tuple(
        override
        for override in queue.overrides
        if override.begin <= as_of <= override.end
        and (
            override.environments is None
            or (environment is not None and environment.name in [identity_of(e) for e in override.environments])
        )
    )


class _Draft:
    """Mutable values of one queue during the computation."""

    __slots__ = ("guaranteed", "lending", "limit", "preempt", "priority", "reclaim", "sources", "weight")

    def __init__(self, queue: Queue, counter: AmountCounter) -> None:
        self.guaranteed = counter.count(queue.guaranteed)
        self.limit = counter.count(queue.limit)
        self.lending = counter.count(queue.lending_limit)
        self.weight = _weights(queue.over_quota_weight)
        self.priority = queue.priority
        self.preempt = _seconds(queue.preempt_min_runtime)
        self.reclaim = _seconds(queue.reclaim_min_runtime)
        self.sources: dict[str, SourceLocation] = {}

    def finished(self, id_: str, guaranteed: Mapping[str, Amount]) -> QueueValues:
        """Return the final record; `guaranteed` includes defaults."""
        return QueueValues(
            id_, guaranteed, self.limit, self.lending, frozenset(self.guaranteed), self.weight, self.priority,
            self.preempt, self.reclaim, self.sources,
        )  # fmt: skip


def _draft(
    queue: Queue, environment: Sequence[QueueOverride], timed: Sequence[Override], counter: AmountCounter
) -> _Draft:
    draft = _Draft(queue, counter)
    if not environment and not timed:
        return draft
    overrides: tuple[QueueOverride | Override, ...] = (*environment, *timed)
    amounts: dict[str, Resources | None] = {field: getattr(queue, field) for field in AMOUNT_FIELDS}
    weight = queue.over_quota_weight
    for override in overrides:
        for field, held in amounts.items():
            if getattr(override, field) is not None:
                amounts[field] = overridden(held, override, field)
                draft.sources[field] = override.source
                mentioned = counter.count(getattr(override, field))
                draft.sources |= {f"{field}/{resource}": override.source for resource in mentioned}
        if override.over_quota_weight is not None:
            weight = overridden_weight(weight, override.over_quota_weight)
            draft.sources["over_quota_weight"] = override.source
        if override.priority is not None:
            draft.priority = override.priority
            draft.sources["priority"] = override.source
        if isinstance(override, QueueOverride):
            draft.preempt = _seconds(override.preempt_min_runtime, draft.preempt)
            draft.reclaim = _seconds(override.reclaim_min_runtime, draft.reclaim)
    draft.guaranteed = counter.count(amounts["guaranteed"])
    draft.limit = counter.count(amounts["limit"])
    draft.lending = counter.count(amounts["lending_limit"])
    draft.weight = _weights(weight)
    return draft


def _fill(
    declared: Mapping[str, Amount], children: list[Mapping[str, Amount]], managed: Iterable[str]
) -> dict[str, Amount]:
    by_model = any(resource.startswith(GPU_MODEL_PREFIX) for resource in declared)
    filled: dict[str, Amount] = dict(declared)
    for resource in managed:
        if resource not in filled:
            filled[resource] = total(child[resource] for child in children)
    for child in children:
        for resource in child:
            if resource.startswith(GPU_MODEL_PREFIX) and resource not in filled:
                # A queue that counts by model guarantees nothing of the models that it omits.
                filled[resource] = 0 if by_model else total(other.get(resource, 0) for other in children)
    return filled


def _models_of(written: Mapping[str, Amount], children: list[Mapping[str, Amount]]) -> Mapping[str, Amount]:
    """Return the guarantees of a queue by model, as written: its own, else the sum of its descendants'."""
    own = {r: a for r, a in written.items() if r.startswith(GPU_MODEL_PREFIX)}
    if own or not children:
        return own
    models = dict.fromkeys(r for child in children for r in child)
    return {r: total(child.get(r, 0) for child in children) for r in models}


def _weights(weight: object) -> Mapping[str, int]:
    if isinstance(weight, Weight):
        return {resource: weight.weights().get(resource, DEFAULT_WEIGHT) for resource in WEIGHTED}
    return _DEFAULT_WEIGHTS if weight is None else _even_weights(str(weight))


@lru_cache(maxsize=1024)
def _even_weights(text: str) -> Mapping[str, int]:
    return dict.fromkeys(WEIGHTED, parse_weight(text))


def _seconds(duration: object, default: int | None = None) -> int | None:
    parse: Callable[[str], int] = parse_duration
    return default if duration is None else parse(str(duration))
