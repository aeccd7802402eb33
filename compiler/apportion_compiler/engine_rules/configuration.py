"""An engine's checks of its own configuration, for `simulate`.

The API server stores a ConfigMap whatever it holds. An engine that rejects it keeps its previous configuration, or
does not start: what would run cannot be told from the objects of the cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect, Manifest


def configuration_refusal(engine: str, objects: Sequence[Manifest]) -> str | None:
    """Return why an engine rejects its configuration among the objects of a cluster; None if it accepts it."""
    rules = ENGINE_RULES.get(engine)
    made = [each for each in objects if each.get("kind") == "ConfigMap"]
    if rules is None or not made:
        return None
    refused = (verdict for verdict in rules.check(made, ()) if verdict.effect is Effect.REJECTED)
    return next((f"{verdict.field}: {verdict.message}" for verdict in refused), None)
