"""The types of `queues.yaml`: the allowed keys of each mapping. With any other key, YuniKorn rejects the whole file.

Source: the structs of pkg/common/configs/config.go at be3bb487; keys are the field names in lower case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar, with the name of its Go type."""

    type: Literal["string", "bool", "uint64", "float64"]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list. `item` is a function, because queues contain queues."""

    type: str
    item: Callable[[], Shape]


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping with any keys."""

    type: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Struct:
    """A mapping with known keys."""

    type: str
    fields: Mapping[str, Callable[[], Shape]]


Shape = Scalar | ListOf | MapOf | Struct

_TEXT, _FLAG, _COUNT, _NUMBER = Scalar("string"), Scalar("bool"), Scalar("uint64"), Scalar("float64")
_TEXTS = ListOf("[]string", lambda: _TEXT)
_TEXT_BY_NAME = MapOf("map[string]string", _TEXT)


def _always(**shapes: Shape) -> dict[str, Callable[[], Shape]]:
    def giving(shape: Shape) -> Callable[[], Shape]:
        return lambda: shape

    return {key: giving(shape) for key, shape in shapes.items()}


_RESOURCES = Struct("configs.Resources", _always(guaranteed=_TEXT_BY_NAME, max=_TEXT_BY_NAME))
_LIMIT = Struct(
    "configs.Limit",
    _always(limit=_TEXT, users=_TEXTS, groups=_TEXTS, maxresources=_TEXT_BY_NAME, maxapplications=_COUNT),
)
_LIMITS = ListOf("[]configs.Limit", lambda: _LIMIT)
_CHILD_TEMPLATE = Struct(
    "configs.ChildTemplate", _always(maxapplications=_COUNT, properties=_TEXT_BY_NAME, resources=_RESOURCES)
)
_QUEUE = Struct(
    "configs.QueueConfig",
    {
        **_always(
            name=_TEXT,
            parent=_FLAG,
            resources=_RESOURCES,
            maxapplications=_COUNT,
            properties=_TEXT_BY_NAME,
            adminacl=_TEXT,
            submitacl=_TEXT,
            childtemplate=_CHILD_TEMPLATE,
            limits=_LIMITS,
        ),
        "queues": lambda: _QUEUES,
    },
)
_QUEUES: ListOf = ListOf("[]configs.QueueConfig", lambda: _QUEUE)
_FILTER = Struct("configs.Filter", _always(type=_TEXT, users=_TEXTS, groups=_TEXTS))
_PLACEMENT_RULE: Struct = Struct(
    "configs.PlacementRule",
    {**_always(name=_TEXT, create=_FLAG, filter=_FILTER, value=_TEXT), "parent": lambda: _PLACEMENT_RULE},
)
_PARTITION = Struct(
    "configs.PartitionConfig",
    _always(
        name=_TEXT,
        queues=_QUEUES,
        placementrules=ListOf("[]configs.PlacementRule", lambda: _PLACEMENT_RULE),
        limits=_LIMITS,
        preemption=Struct("configs.PartitionPreemptionConfig", _always(enabled=_FLAG, quotapreemptionenabled=_FLAG)),
        nodesortpolicy=Struct(
            "configs.NodeSortingPolicy",
            _always(type=_TEXT, resourceweights=MapOf("map[string]float64", _NUMBER)),
        ),
        usergroupresolver=Struct("configs.UserGroupResolver", _always(type=_TEXT)),
    ),
)
SCHEDULER_CONFIG = Struct(
    "configs.SchedulerConfig",
    _always(partitions=ListOf("[]configs.PartitionConfig", lambda: _PARTITION), checksum=_TEXT),
)
