"""The configuration as records with the fields of `queues.yaml` (pkg/common/configs/config.go at be3bb487).

None is Go's nil, which some checks distinguish from an empty list or mapping. `path` is the path of a record in the
file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit for users and groups. `max_applications` 0 is unlimited."""

    limit: str = ""
    users: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    max_resources: Mapping[str, str] | None = None
    max_applications: int = 0
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue with its descendants."""

    name: str = ""
    parent: bool = False
    guaranteed: Mapping[str, str] | None = None
    max: Mapping[str, str] | None = None
    max_applications: int = 0
    properties: Mapping[str, str] | None = None
    admin_acl: str = ""
    submit_acl: str = ""
    queues: tuple[Queue, ...] | None = None
    limits: tuple[Limit, ...] | None = None
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """The applications to which a placement rule applies."""

    type: str = ""
    users: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """A rule that assigns a queue to an application; `parent` is the rule for the parent queue."""

    name: str = ""
    create: bool = False
    filter: Filter = Filter()
    parent: PlacementRule | None = None
    value: str = ""
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Partition:
    """A set of nodes with separate queues. `preemption` and `quota_preemption` are None if unset."""

    name: str = ""
    queues: tuple[Queue, ...] | None = None
    placement_rules: tuple[PlacementRule, ...] | None = None
    limits: tuple[Limit, ...] | None = None
    preemption: bool | None = None
    quota_preemption: bool | None = None
    node_sort_policy: str = ""
    resource_weights: Mapping[str, float] | None = None
    path: str = field(default="", compare=False)


Fields = Mapping[str, object]
"""A decoded mapping: only known keys, each with a value of its type."""


def partitions_of(config: Fields) -> tuple[Partition, ...]:
    """Return the partitions of a decoded configuration."""
    found = _listed(config, "partitions") or ()
    return tuple(partition_of(partition, f"partitions[{index}]") for index, partition in enumerate(found))


def partition_of(fields: Fields, path: str = "") -> Partition:
    """Return a partition."""
    preemption, order = _mapped(fields, "preemption"), _mapped(fields, "nodesortpolicy")
    rules = _listed(fields, "placementrules")
    return Partition(
        name=_text(fields, "name"),
        queues=_queues(fields, path),
        placement_rules=None
        if rules is None
        else tuple(placement_rule_of(rule, _at(path, f"placementrules[{n}]")) for n, rule in enumerate(rules)),
        limits=_limits(fields, path),
        preemption=cast("bool | None", preemption.get("enabled")),
        quota_preemption=cast("bool | None", preemption.get("quotapreemptionenabled")),
        node_sort_policy=_text(order, "type"),
        resource_weights=cast("Mapping[str, float] | None", order.get("resourceweights")),
        path=path,
    )


def queue_of(fields: Fields, path: str = "") -> Queue:
    """Return a queue with its descendants."""
    resources = _mapped(fields, "resources")
    return Queue(
        name=_text(fields, "name"),
        parent=bool(fields.get("parent", False)),
        guaranteed=_texts_by_name(resources, "guaranteed"),
        max=_texts_by_name(resources, "max"),
        max_applications=_number(fields, "maxapplications"),
        properties=_texts_by_name(fields, "properties"),
        admin_acl=_text(fields, "adminacl"),
        submit_acl=_text(fields, "submitacl"),
        queues=_queues(fields, path),
        limits=_limits(fields, path),
        path=path,
    )


def placement_rule_of(fields: Fields, path: str = "") -> PlacementRule:
    """Return a placement rule with its parent rules."""
    narrowed, above = _mapped(fields, "filter"), fields.get("parent")
    return PlacementRule(
        name=_text(fields, "name"),
        create=bool(fields.get("create", False)),
        filter=Filter(_text(narrowed, "type"), _texts(narrowed, "users"), _texts(narrowed, "groups")),
        parent=None if above is None else placement_rule_of(cast("Fields", above), _at(path, "parent")),
        value=_text(fields, "value"),
        path=path,
    )


def _limit_of(fields: Fields, path: str) -> Limit:
    return Limit(
        _text(fields, "limit"),
        _texts(fields, "users"),
        _texts(fields, "groups"),
        _texts_by_name(fields, "maxresources"),
        _number(fields, "maxapplications"),
        path,
    )


def _queues(fields: Fields, path: str) -> tuple[Queue, ...] | None:
    listed = _listed(fields, "queues")
    return None if listed is None else tuple(queue_of(q, _at(path, f"queues[{n}]")) for n, q in enumerate(listed))


def _limits(fields: Fields, path: str) -> tuple[Limit, ...] | None:
    listed = _listed(fields, "limits")
    return None if listed is None else tuple(_limit_of(x, _at(path, f"limits[{n}]")) for n, x in enumerate(listed))


def _at(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _text(fields: Fields, key: str) -> str:
    return str(fields.get(key, ""))


def _number(fields: Fields, key: str) -> int:
    return cast("int", fields.get(key, 0))


def _mapped(fields: Fields, key: str) -> Fields:
    return cast("Fields", fields.get(key) or {})


def _listed(fields: Fields, key: str) -> Sequence[Fields] | None:
    return cast("Sequence[Fields] | None", fields.get(key))


def _texts(fields: Fields, key: str) -> tuple[str, ...] | None:
    listed = cast("Sequence[str] | None", fields.get(key))
    return None if listed is None else tuple(listed)


def _texts_by_name(fields: Fields, key: str) -> Mapping[str, str] | None:
    return cast("Mapping[str, str] | None", fields.get(key))
