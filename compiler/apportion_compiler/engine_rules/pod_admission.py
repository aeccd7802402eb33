"""What is refused of a workload's pods when they are made: the one admission of `validate`, `bind` and `simulate`.

The API server's own validation and the webhooks of engines that look at pods. The simulator, which shares nothing with
the compiler, is given `admit` by the command line (docs/decisions/0011-one-admission-of-pods.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.engine_rules.verdict import Manifest
from apportion_compiler.engine_rules.workload_rules.every_engine import devices
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, context_of
from apportion_compiler.engines.registry import EngineParts, engine_parts

_WEBHOOKS: Mapping[str, tuple[Rule, ...]] = EngineParts(engine_parts("rules.pod_webhook", "RULES"))


def admit(engine: str, manifest: Manifest) -> None:
    """Raise `ValueError` with the first of `refusals`."""
    for refusal in refusals(engine, manifest):
        raise ValueError(refusal)


def refusals(engine: str, manifest: Manifest) -> Iterator[str]:
    """Yield why the pods of a workload are refused on a cluster with an engine; nothing of what is no workload."""
    context = context_of(engine, (manifest,), ())
    for rule in (devices, *_WEBHOOKS.get(engine, ())):
        for verdict in rule(context):
            yield verdict.message
