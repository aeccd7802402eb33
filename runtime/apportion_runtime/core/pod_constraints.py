"""The constraints of pods on nodes: taints and tolerations, node affinity, and affinity between pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint, which keeps pods without a matching toleration off a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of taints. An empty key matches every taint, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """One requirement on labels: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Requirements that must all be met; the terms of an affinity are alternatives."""

    expressions: tuple[Expression, ...] = ()
    fields: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class PodTerm:
    """An affinity or anti-affinity to pods. `selector` None selects nothing; empty selects all."""

    topology_key: str
    selector: tuple[Expression, ...] | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: tuple[Expression, ...] | None = None


@dataclass(frozen=True, slots=True)
class PodPreference:
    """A preferred affinity to pods; a negative weight is a preferred anti-affinity."""

    term: PodTerm
    weight: int
