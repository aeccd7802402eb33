"""AP301: a topology with levels that no engine supports.

Source: KAI and Kueue Topology (CEL rules of their CRDs): levels are unique, `kubernetes.io/hostname` can only be the
lowest, and each is the key of a node label.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_compiler.diagnostics.diagnostic import Applicability, Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.kubernetes_names import is_label_key
from apportion_policy.placement import Topology

INVALID_TOPOLOGY = Rule("AP301", "invalid-topology", Severity.ERROR, "a topology has levels that no engine supports")


def invalid_topology(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Check each topology once, even if several clusters use it."""
    first: dict[str, tuple[str, int]] = {}
    for environment, cluster in graph.declarations.clusters:
        for topology in cluster.topologies:
            place = (topology.source.file, topology.source.line)
            # A topology with the same name is identified by its cluster.
            scope = None if first.setdefault(topology.name, place) == place else f"{environment.name}/{cluster.name}"
            yield from _faults(topology, scope)


def _faults(topology: Topology, scope: str | None) -> Iterator[Diagnostic]:
    seen: dict[str, int] = {}
    lowest = len(topology.levels) - 1
    for number, level in enumerate(topology.levels):
        if level in seen:
            yield _finding(
                topology,
                f"level {number + 1} of topology `{topology.name}` repeats level {seen[level] + 1}, {level}",
                f"remove level {number + 1}",
                ValueEdit(topology.source, ("levels", str(number)), None, Applicability.SAFE),
                scope,
            )
            continue
        seen[level] = number
        if not is_label_key(level):
            yield _finding(
                topology,
                f'level {number + 1} of topology `{topology.name}`, "{level}", is not a valid node label key',
                "use a key such as topology.kubernetes.io/zone: at most 63 letters, digits, dashes, dots and "
                "underscores after an optional DNS name and slash",
                None,
                scope,
            )
        elif level == HOSTNAME_LABEL and number != lowest:
            yield _finding(
                topology,
                f"topology `{topology.name}` has {HOSTNAME_LABEL} at level {number + 1} of {lowest + 1}, but it must be "
                "the last level",
                f"move {HOSTNAME_LABEL} to the end",
                None,
                scope,
            )


def _finding(topology: Topology, message: str, hint: str, fix: ValueEdit | None, scope: str | None) -> Diagnostic:
    return Diagnostic(
        INVALID_TOPOLOGY, f"topology {topology.name}", message, topology.source, hint=hint, fix=fix, scope=scope
    )
