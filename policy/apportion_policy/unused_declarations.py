"""Declarations of an evaluation that are not part of its policy: a queue without a variable, a pool in no list.

Values (`Resources`, `Placement`, …) are not declarations of their own and may be unused; a template of a copy is used,
and so are declarations of another policy of the same evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from apportion_policy.cluster import Cluster, Environment, QueueOverride
from apportion_policy.declaration import Declaration, DeclarationRecord
from apportion_policy.limit_range import LimitRange
from apportion_policy.omission import Omission
from apportion_policy.placement import Topology
from apportion_policy.policy import Policy, Waiver
from apportion_policy.pool import NodePool
from apportion_policy.priority import PriorityClass
from apportion_policy.provisioning import ProvisioningPlan
from apportion_policy.queue import Override, Queue, UserLimit


def unused_declarations(record: DeclarationRecord) -> Iterator[Omission]:
    """Yield the recorded declarations that no policy and no template contains; for nested ones, the outermost."""
    held = _held((*(made for made in record.made if isinstance(made, Policy)), *record.copied))
    left = [d for d in record.made if id(d) not in held and type(d) in _IDENTITIES]
    nested = _held(inner for d in left for inner in _directly_held(d))
    for declaration in left:
        if id(declaration) not in nested:
            kind, identity = _IDENTITIES[type(declaration)]
            name = " ".join(str(getattr(declaration, field, "?")) for field in identity)
            yield Omission(kind, name, declaration.source)


_IDENTITIES: Mapping[type[Declaration], tuple[str, tuple[str, ...]]] = {
    Cluster: ("cluster", ("name",)),
    Environment: ("environment", ("name",)),
    LimitRange: ("limit range", ("name",)),
    NodePool: ("node pool", ("id",)),
    Override: ("override", ("begin", "end")),
    PriorityClass: ("priority class", ("name",)),
    ProvisioningPlan: ("provisioning plan", ("id",)),
    Queue: ("queue", ("id",)),
    QueueOverride: ("override of queue", ("queue",)),
    Topology: ("topology", ("name",)),
    UserLimit: ("user limit", ("user",)),
    Waiver: ("waiver", ("code", "address")),
}
DECLARATION_KINDS = frozenset(kind for kind, _ in _IDENTITIES.values())


def _held(roots: Iterable[Declaration]) -> set[int]:
    """Return the identities of declarations and of all declarations that they contain."""
    held: set[int] = set()
    stack = list(roots)
    while stack:
        declaration = stack.pop()
        if id(declaration) not in held:
            held.add(id(declaration))
            stack += _directly_held(declaration)
    return held


def _directly_held(declaration: Declaration) -> Iterator[Declaration]:
    for value in declaration.__dict__.values():
        if isinstance(value, Declaration):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in cast(tuple[Any, ...], value) if isinstance(item, Declaration))
