"""A policy as facts: one value for each field of each object, as declared and as effective on each cluster.

Two policies with equal facts compile to the same objects. Facts do not include locations or the order of declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple, cast

from apportion_compiler.graph.declared_amounts import declared_amounts
from apportion_policy.declaration import Declaration
from apportion_policy.pool import NodePool
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import Resources, Weight
from apportion_policy.source import SourceLocation

Value = int | str | bool | tuple[str, ...] | Unlimited
"""A fact's value: amounts in base units (millicores, bytes, thousandths of a GPU), times in seconds, weights in
thousandths."""

QUEUE, POOL, CLASS, PLAN = "queue", "node pool", "priority class", "provisioning plan"
ENVIRONMENT, CLUSTER, OVERRIDE, ENVIRONMENT_OVERRIDE = "environment", "cluster", "override", "environment override"
RULES, WAIVER, ORGANISATION = "rules", "waiver", "organisation"
KINDS = (
    QUEUE, OVERRIDE, ENVIRONMENT_OVERRIDE, POOL, CLASS, PLAN, ENVIRONMENT, CLUSTER, RULES, WAIVER, ORGANISATION
)  # fmt: skip
"""Kinds of objects, in the order of a report."""

DECLARED = "declared"
"""First part of the field of a declared amount, before overrides and the share of a cluster."""
EFFECTIVE_LIMIT = "effective_limit"
"""First part of the field of an effective limit, which includes those of the ancestors."""
AMOUNTS = ("guaranteed", "limit", "lending_limit", EFFECTIVE_LIMIT)
"""First parts of the fields with an amount for each resource."""


class Fact(NamedTuple):
    """The key of a value.

    Attributes:
        kind: One of `KINDS`.
        name: Name of the object, empty for a singleton; that of an override begins with the queue and a space.
        scope: The cluster, such as `prod/gpu-1`; empty for facts of the whole policy.
        field: Path of the field; empty for the existence of the object.
    """

    kind: str
    name: str
    scope: str
    field: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one policy.

    Attributes:
        values: Values; missing ones are unset.
        locations: Location of each object, by kind and name.
        clusters: Every cluster, such as `prod/gpu-1`, in order of declaration.
        filled: Default guarantees: sums of the children's.
        parents: Each queue's parent, in tree order.
    """

    values: Mapping[Fact, Value]
    locations: Mapping[tuple[str, str], SourceLocation]
    clusters: tuple[str, ...]
    filled: frozenset[Fact]
    parents: Mapping[str, str | None]


def flattened(
    value: object, pools: Mapping[str, NodePool], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Value]]:
    """Yield every scalar within a declaration, record, mapping or sequence with its path, except None."""
    if value is None or isinstance(value, SourceLocation):
        return
    if isinstance(value, Enum) and not isinstance(value, Unlimited):
        yield path, str(value.value)
    elif isinstance(value, Unlimited | bool | int | str):
        yield path, value
    elif isinstance(value, Fraction | date | float):
        yield path, str(value)
    elif isinstance(value, Resources):
        amounts = declared_amounts(value, pools)
        yield from (((*path, resource), amount) for resource, amount in amounts.items())
        yield from (((*path, "machines", pool), n) for pool, n in (value.machines or {}).items())
    elif isinstance(value, Weight):
        yield from (((*path, resource), weight) for resource, weight in value.weights().items())
    elif isinstance(value, Mapping):
        for key, held in cast(Mapping[Any, object], value).items():
            yield from flattened(held, pools, (*path, str(key)))
    elif isinstance(value, tuple | list | frozenset):
        yield from _items(tuple(cast("tuple[object, ...]", value)), pools, path)
    else:
        for name, held in _fields(value):
            yield from flattened(held, pools, (*path, name))


def _fields(record: object) -> Iterator[tuple[str, object]]:
    if isinstance(record, Declaration):
        yield from ((name, getattr(record, name)) for name in type(record).model_fields)
    elif is_dataclass(record):
        yield from ((field.name, getattr(record, field.name)) for field in fields(record))
    else:
        raise TypeError(f"{type(record).__name__} has no fields")


_SETS = frozenset(
    (
        "clusters", "environments", "external_namespaces", "managed_elsewhere", "pools", "priority_classes", "queues",
        "replace", "reserved_namespaces",
    )
)  # fmt: skip
# Fields with names in insignificant order. The first namespace is the default one, and levels, taints and zones keep
# their declared order.


def _items(
    held: tuple[object, ...], pools: Mapping[str, NodePool], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Value]]:
    if all(isinstance(item, str | int) for item in held):
        names = tuple(str(item.value) if isinstance(item, Enum) else str(item) for item in held)
        yield path, tuple(sorted(names)) if path[-1] in _SETS else names
        return
    for number, item in enumerate(held):
        name = next((str(n) for key in ("name", "id", "user") if (n := getattr(item, key, None))), f"[{number}]")
        yield from flattened(item, pools, (*path, name))
