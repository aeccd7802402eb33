"""The policy of an organisation, with its rules and waivers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from enum import Enum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema

from apportion_policy.agreement import NAMESPACE_PATTERN, Agreement
from apportion_policy.cluster import Environment
from apportion_policy.declaration import Declaration
from apportion_policy.identifiers import Identifier, Owner
from apportion_policy.omission import Omission
from apportion_policy.pool import NodePool
from apportion_policy.priority import DEFAULT_PRIORITY_CLASSES, PriorityClass
from apportion_policy.provisioning import ProvisioningPlan
from apportion_policy.quantity import QuantityInput, parse_weight, weight_text
from apportion_policy.queue import Queue

RuleCode = Annotated[str, StringConstraints(pattern=r"^AP\d{3}$")]

NamespacePattern = Annotated[str, StringConstraints(pattern=NAMESPACE_PATTERN)]


class RuleSeverity(str, Enum):
    """Severity of a rule."""

    ERROR = "error"
    WARNING = "warning"
    OFF = "off"


def _ratio(value: QuantityInput) -> str:
    ratio = parse_weight(value)
    if ratio < 1000:
        raise ValueError("an overcommit ratio must be 1 (no overcommit) or more")
    return weight_text(ratio)


class Waiver(Declaration):
    """Suppresses one finding, visibly, until a date."""

    code: RuleCode = Field(description="Code of the rule, such as AP201.")
    address: str = Field(min_length=1, description='Address of the object in the finding, such as "queue research".')
    reason: str = Field(min_length=1, description="Reason, for the reviewer.")
    owner: Owner
    expires: date = Field(description="Last day on which the waiver applies.")


class Rules(Declaration):
    """Rule severities and other settings of the checks."""

    severity: Mapping[RuleCode, RuleSeverity] = Field(
        default={}, description="Severity per rule: error, warning or off."
    )
    reserved_namespaces: tuple[NamespacePattern, ...] = Field(
        default=(),
        description="Namespaces that no queue may use, in addition to the built-in ones; a name may end with *.",
    )
    overcommit: Annotated[
        QuantityInput,
        AfterValidator(_ratio),
        WithJsonSchema({"anyOf": [{"type": "number", "minimum": 1}, {"type": "string"}]}),
    ] = Field(
        default="1", description="Maximum ratio of guarantees to the amount that backs them; 1 allows no overcommit."
    )


class Organisation(Declaration):
    """The organisation."""

    name: Identifier = Field(description="Short name of the organisation.")
    owner: Owner | None = Field(default=None, description="Owner of objects that do not set their own.")


class Policy(Declaration):
    """A complete policy: the input of the compiler."""

    organisation: Organisation = Field(description="The organisation.")
    queues: tuple[Queue, ...] = Field(
        default=(), description="Queues in any order; their `parent` or `children` fields define the tree."
    )
    environments: tuple[Environment, ...] = Field(default=(), description="Environments where the policy applies.")
    priority_classes: tuple[PriorityClass, ...] = Field(
        default=DEFAULT_PRIORITY_CLASSES,
        description="Priority classes. If unset, the four classes that KAI's chart installs.",
    )
    node_pools: tuple[NodePool, ...] = Field(default=(), description="Pools of identical machines.")
    provisioning_plans: tuple[ProvisioningPlan, ...] = Field(
        default=(), description="Provisioning plans for node pools."
    )
    rules: Rules = Field(default=Rules(), description="Rule severities and the permitted overcommit of guarantees.")
    waivers: tuple[Waiver, ...] = Field(default=(), description="Findings that are accepted until a given date.")

    __slots__ = ("_agreed", "_omitted")

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """Declarations and files that are not part of the policy; excluded from equality and serialisation."""
        try:
            omitted: tuple[Omission, ...] = _get_omitted(self)
        except AttributeError:
            return ()
        return omitted

    @property
    def agreement(self) -> Agreement:
        """Permissions granted by the caller of the command; excluded from equality and serialisation."""
        try:
            agreed: Agreement = _get_agreed(self)
        except AttributeError:
            return Agreement()
        return agreed


def set_agreement(policy: Policy, agreed: Agreement) -> None:
    """Set the permissions granted by the caller."""
    _set_agreed(policy, agreed)


def set_omissions(policy: Policy, omissions: Iterable[Omission]) -> None:
    """Set the declarations and files that are not part of the policy."""
    _set_omitted(policy, tuple(omissions))


_get_agreed: Any = Policy.__dict__["_agreed"].__get__
_set_agreed: Any = Policy.__dict__["_agreed"].__set__
_get_omitted: Any = Policy.__dict__["_omitted"].__get__
_set_omitted: Any = Policy.__dict__["_omitted"].__set__
