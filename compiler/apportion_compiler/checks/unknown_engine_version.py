"""AP110: an unsupported version of an engine or of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity
from apportion_compiler.engine_versions import KUBERNETES, VersionRange, minor_text, parse_version
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.graph.graph import PolicyGraph

UNKNOWN_ENGINE_VERSION = Rule(
    "AP110", "unknown-engine-version", Severity.ERROR, "this release does not support the engine version"
)


def unknown_engine_version(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare the versions of every cluster with the supported range of its engine and of Kubernetes."""
    for environment, cluster in graph.declarations.clusters:
        address = f"cluster {environment.name}/{cluster.name}"
        versions = TRAITS[cluster.engine.value].versions
        stated = [(cluster.engine_version, versions)]
        if versions is not KUBERNETES or cluster.kubernetes_version != cluster.engine_version:
            stated.append((cluster.kubernetes_version, KUBERNETES))
        for text, known in stated:
            problem = _problem(text, known)
            if problem is not None:
                message, hint = problem
                yield Diagnostic(
                    UNKNOWN_ENGINE_VERSION, address, f"{address} runs {message}", cluster.source, hint=hint
                )


def _problem(text: str, known: VersionRange) -> tuple[str, str] | None:
    version = parse_version(text)
    oldest, newest = known.oldest, known.newest
    if version is None:
        example = minor_text(newest or oldest)
        return (
            f"{known.product} `{text}`, which is not a version number",
            f'set the installed version, such as "{example}.0"',
        )
    if version < oldest:
        return (
            f"{known.product} {text}, but the oldest supported version is {minor_text(oldest)}",
            f"upgrade {known.product} on the cluster to {minor_text(oldest)} or later",
        )
    if newest is not None and version > newest:
        return (
            f"{known.product} {text}, but the newest supported version is {minor_text(newest)}",
            f"upgrade apportion, or review the release notes of {known.product} ({known.source}) and set AP110 to warning",
        )
    return None
