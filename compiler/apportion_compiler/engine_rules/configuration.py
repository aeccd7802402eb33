"""An engine's checks of its own configuration and quotas, for `simulate`.

The API server stores a ConfigMap whatever it holds. An engine that rejects it keeps its previous configuration, or
does not start: what would run cannot be told from the objects of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect, Manifest

_QUOTAS: Mapping[str, frozenset[str]] = {"koordinator": frozenset(("ElasticQuota", "ElasticQuotaProfile"))}
"""The kinds whose objects an engine's webhook would reject, or reads otherwise than they are written."""


def quota_faults(engine: str, title: str, objects: Sequence[Manifest]) -> tuple[str | None, tuple[str, ...]]:
    """Return what `validate --manifests` reports on the quotas of an engine, by its title; each with its object.

    The first is why the quotas cannot be simulated: two have the same name. The others are warnings.
    """
    rules = ENGINE_RULES.get(engine)
    made = [each for each in objects if each.get("kind") in _QUOTAS.get(engine, ())]
    if rules is None or not made:
        return None, ()
    refusal: str | None = None
    warnings: list[str] = []
    for verdict in rules.check(made, ()):
        metadata: Any = made[verdict.index].get("metadata") or {}
        names = (metadata.get(key) for key in ("namespace", "name"))
        name = "/".join(str(each) for each in names if each)
        does = "rejects" if verdict.effect is Effect.REJECTED else "does not apply"
        fault = f"{made[verdict.index]['kind']} {name}: {title} {does} {verdict.field or 'it'}: {verdict.message}"
        if refusal is None and (verdict.kind, verdict.field) == ("Duplicate", "metadata.name"):
            refusal = fault
        warnings.append(fault)
    return refusal, tuple(warnings)


def configuration_refusal(engine: str, objects: Sequence[Manifest]) -> str | None:
    """Return why an engine rejects its configuration among the objects of a cluster; None if it accepts it."""
    rules = ENGINE_RULES.get(engine)
    made = [each for each in objects if each.get("kind") == "ConfigMap"]
    if rules is None or not made:
        return None
    refused = (verdict for verdict in rules.check(made, ()) if verdict.effect is Effect.REJECTED)
    return next((f"{verdict.field}: {verdict.message}" for verdict in refused), None)
