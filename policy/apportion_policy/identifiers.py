"""Identifiers of objects, and references between declarations.

A reference field accepts a declaration or its identity and stores the identity. References to Python objects support
go-to-definition; identities avoid imports between the files of teams.

Names are not validated here: whether a name is valid in Kubernetes is checked by a rule (AP104).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from apportion_policy.declaration import reference

if TYPE_CHECKING:
    from apportion_policy.cluster import Environment
    from apportion_policy.pool import NodePool
    from apportion_policy.priority import PriorityClass
    from apportion_policy.provisioning import ProvisioningPlan
    from apportion_policy.queue import Queue

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=253)]
PoolId = Identifier


def parse_owner(value: str) -> str:
    """Return an owner. Raises `ValueError` if the text is not a valid owner."""
    # Owners become groups with access rights; names with this prefix are Kubernetes' own groups.
    if value.startswith("system:"):
        raise ValueError(f'"{value}" is a built-in Kubernetes group; use a team, such as "@acme/vision-leads"')
    if any(character.isspace() for character in value):
        raise ValueError(f'"{value}" is not an owner such as "@acme/vision-leads" or "group:default/vision"')
    return value


Owner = Annotated[
    str,
    AfterValidator(parse_owner),
    Field(
        description="A GitHub handle (@team or @org/team) or a Backstage entity reference (group:default/vision).",
        examples=["@acme/vision-leads", "group:default/vision"],
        min_length=1,
        max_length=253,
    ),
]

# At run time, every reference is text: a declaration is replaced by its identity.
if TYPE_CHECKING:
    QueueRef: TypeAlias = "str | Queue"
    PriorityClassRef: TypeAlias = "str | PriorityClass"
    PoolRef: TypeAlias = "str | NodePool"
    PlanRef: TypeAlias = "str | ProvisioningPlan"
    EnvironmentRef: TypeAlias = "str | Environment"
else:
    QueueRef = PriorityClassRef = PoolRef = PlanRef = EnvironmentRef = Annotated[Identifier, BeforeValidator(reference)]


def identity_of(ref: QueueRef | PriorityClassRef | PoolRef | PlanRef | EnvironmentRef) -> str:
    """Return the identity of a validated reference."""
    return ref if isinstance(ref, str) else ref.identity
