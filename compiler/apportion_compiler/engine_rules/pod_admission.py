"""Admission of a workload's pods, shared by `validate`, `bind` and `simulate`.

It implements the API server's validation and the engines' webhooks on pods. The simulator does not import the compiler;
the command line passes it `admit` (docs/decisions/0011-one-admission-of-pods.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.engine_rules.verdict import Manifest
from apportion_compiler.engine_rules.workload_rules.common_faults import devices
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, context_of
from apportion_compiler.engines.registry import EngineParts, engine_parts

_WEBHOOKS: Mapping[str, tuple[Rule, ...]] = EngineParts(engine_parts("rules.pod_webhook", "RULES"))


def admit(engine: str, manifest: Manifest) -> None:
    """Raise `ValueError` with the first of `refusals`."""
    for refusal in refusals(engine, manifest):
        raise ValueError(refusal)


def refusals(engine: str, manifest: Manifest) -> Iterator[str]:
    """Yield the reasons why the pods of a workload are rejected on a cluster with an engine; none for other objects."""
    context = context_of(engine, (manifest,), ())
    for rule in (devices, *_WEBHOOKS.get(engine, ())):
        for verdict in rule(context):
            yield verdict.message
