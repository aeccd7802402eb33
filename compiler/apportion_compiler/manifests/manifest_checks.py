"""Findings about manifests: the verdicts of their engines, each with file and line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from apportion_compiler.checks.manifests import (
    MANIFEST_DEPRECATED,
    MANIFEST_IGNORED,
    MANIFEST_REJECTED,
    WORKLOAD_PENDING,
)
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule
from apportion_compiler.engine_rules import ENGINE_RULES
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.engines.registry import PLAIN_KUBERNETES, TRAITS
from apportion_compiler.manifests.engines import engines_of
from apportion_compiler.manifests.located_manifest import LocatedManifest

_RULES: Mapping[Effect, tuple[Rule, str]] = {
    Effect.REJECTED: (MANIFEST_REJECTED, "{engine} rejects {what}"),
    Effect.IGNORED: (MANIFEST_IGNORED, "{engine} does not apply {what} as written"),
    Effect.WARNED: (MANIFEST_IGNORED, "{engine} admits {what} in violation of the policy"),
    Effect.PENDING: (WORKLOAD_PENDING, "a workload stays pending on {engine}"),
    Effect.DEPRECATED: (MANIFEST_DEPRECATED, "later versions do not support {what} as written"),
}


def check_manifests(
    objects: Sequence[LocatedManifest],
    engines: Sequence[str] = (),
    *,
    existing: Sequence[Manifest] = (),
    further: Callable[[Sequence[Manifest]], Iterator[Verdict]] | None = None,
) -> tuple[Diagnostic, ...]:
    """Return findings for objects that the engines would reject, ignore or leave pending, in the order of the objects.

    Args:
        objects: All objects that are applied together.
        engines: Names of engines; by default those that the objects use.
        existing: The cluster's objects, which are not evaluated themselves.
        further: Additional verdicts on the cluster, attributed to its first engine.
    """
    manifests = [placed.manifest for placed in objects]
    found: dict[tuple[object, ...], tuple[int, Diagnostic]] = {}
    for number, engine in enumerate(engines or engines_of((*existing, *manifests))):
        known = further(manifests) if further is not None and not number else ()
        for verdict in _of_one_cause((*_verdicts(engine, manifests, existing), *known)):
            placed = objects[verdict.index]
            finding = _finding(engine, verdict, placed)
            # Verdicts of Kubernetes' own rules apply to every engine, and are reported once.
            found.setdefault((verdict.index, verdict.field, finding.code, verdict.message), (verdict.index, finding))
    return tuple(finding for _, finding in sorted(found.values(), key=lambda pair: pair[0]))


def _of_one_cause(verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """Remove verdicts on fields that are also rejected."""
    refused = {(verdict.index, verdict.field) for verdict in verdicts if verdict.effect is Effect.REJECTED}
    for verdict in verdicts:
        if verdict.effect is Effect.REJECTED or (verdict.index, verdict.field) not in refused:
            yield verdict


def _verdicts(engine: str, manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    if engine in ENGINE_RULES:
        yield from ENGINE_RULES[engine].check(manifests, existing)
    yield from workload_verdicts(engine, manifests, existing)


def _finding(engine: str, verdict: Verdict, placed: LocatedManifest) -> Diagnostic:
    rule, clause = _RULES[verdict.effect]
    what = f"`{verdict.field}`" if verdict.field else "it"
    message = clause.format(engine="the API server" if engine == PLAIN_KUBERNETES else TRAITS[engine].title, what=what)
    return Diagnostic(
        rule, placed.address, f"{message}: {verdict.message}", placed.at(verdict.field), hint=verdict.cure or None
    )
