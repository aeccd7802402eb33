"""AP104: a name that is invalid in Kubernetes, or that would be truncated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

from apportion_compiler.checks.references import references
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Rule, Severity, ValueEdit
from apportion_compiler.graph.declarations import Declarations
from apportion_compiler.graph.named_objects import NamedObject
from apportion_compiler.kubernetes_names import (
    MAX_NAME,
    is_label,
    is_label_key,
    is_label_value,
    is_subdomain,
    object_name,
    suggested_name,
)
from apportion_policy.pool import NodePool
from apportion_policy.queue import Queue
from apportion_policy.source import SourceLocation

# Required, because names become file paths: `../../escape` must never reach the writer.
INVALID_NAME = Rule("AP104", "invalid-name", Severity.ERROR, "a name is not valid in Kubernetes", required=True)

_LABEL = "lowercase letters, digits and dashes, and must start and end with a letter or digit"
# Cluster administrators also create these objects, and Kubernetes allows dots in their names.
_DOTTED = frozenset({"priority class", "topology"})
_FOLDERS = frozenset({"environment", "cluster"})
"""Their names become folder names, which are not truncated."""


def invalid_name(declarations: Declarations, as_of: date) -> Iterator[Diagnostic]:
    """Check names of objects and namespaces, and keys and values of labels and taints."""
    referred: frozenset[str] | None = None
    for named in declarations.named:
        if not (is_subdomain(named.name) if named.kind in _DOTTED else is_label(named.name)):
            if referred is None:
                referred = _referred(declarations)
            yield _bad_characters(named, referred)
        elif len(named.name) > MAX_NAME:
            yield _too_long(named)
    for declared in declarations.queues:
        yield from _bad_in_queue(declared.queue)
    for pool in declarations.policy.node_pools:
        yield from _bad_in_pool(pool)


def _bad_characters(named: NamedObject, referred: frozenset[str]) -> Diagnostic:
    allowed = _LABEL.replace("digits and dashes", "digits, dashes and dots") if named.kind in _DOTTED else _LABEL
    meant = suggested_name(named.name)
    return Diagnostic(
        INVALID_NAME,
        named.address,
        f"the {named.kind} {named.field} `{named.name}` must consist of {allowed}",
        named.at,
        hint=f"use `{meant}`" if meant is not None else "use ASCII letters, as in `team-1`",
        # A single edit suffices only if no other declaration uses the name.
        fix=ValueEdit(named.at, (named.field,), meant) if meant is not None and named.name not in referred else None,
    )


def _too_long(named: NamedObject) -> Diagnostic:
    if named.kind in _FOLDERS:
        return Diagnostic(
            INVALID_NAME,
            named.address,
            f"the {named.kind} {named.field} `{named.name}` has {len(named.name)} characters, but folder names allow "
            f"at most {MAX_NAME}",
            named.at,
            hint=f"shorten it to at most {MAX_NAME} characters",
        )
    return Diagnostic(
        INVALID_NAME,
        named.address,
        f"the {named.kind} {named.field} `{named.name}` has {len(named.name)} characters, but label values allow at most "
        f"{MAX_NAME}, so its objects are named `{object_name(named.name)}`",
        named.at,
        hint=f"shorten it to at most {MAX_NAME} characters before the first rollout; renaming it later creates a new {named.kind}",
        severity=Severity.WARNING,
    )


def _referred(declarations: Declarations) -> frozenset[str]:
    """Return the names that other declarations reference, regardless of the kind."""
    parents = (declared.parent for declared in declarations.queues if declared.parent is not None)
    topologies = (pool.topology for pool in declarations.policy.node_pools if pool.topology is not None)
    return frozenset((*parents, *topologies, *(reference.name for reference in references(declarations))))


def _bad_in_queue(queue: Queue) -> Iterator[Diagnostic]:
    address = f"queue {queue.id}"
    for namespace in queue.namespaces:
        if not is_label(namespace) or len(namespace) > MAX_NAME:
            meant = suggested_name(namespace)
            yield Diagnostic(
                INVALID_NAME,
                address,
                f"the namespace `{namespace}` of `{queue.id}` must consist of at most {MAX_NAME} {_LABEL}",
                queue.source,
                hint=f"use the name of the namespace in the cluster, such as `{meant or 'team-1'}`",
            )
    yield from _bad_labels(queue.labels, address, "label", queue.source)


def _bad_in_pool(pool: NodePool) -> Iterator[Diagnostic]:
    address = f"node pool {pool.id}"
    yield from _bad_labels(pool.labels, address, "label", pool.source)
    for taint in pool.taints:
        yield from _bad_labels({taint.key: taint.value or ""}, address, "taint", taint.source)


def _bad_labels(labels: Mapping[str, str], address: str, kind: str, at: SourceLocation) -> Iterator[Diagnostic]:
    owner = address.rpartition(" ")[2]
    for key, value in labels.items():
        if not is_label_key(key):
            yield Diagnostic(
                INVALID_NAME,
                address,
                f"the {kind} `{key}` in `{owner}` has an invalid key",
                at,
                hint=f"use a key such as `team` or `example.com/team`: at most {MAX_NAME} letters, digits, dashes, "
                "dots and underscores after an optional domain",
            )
        if not is_label_value(value):
            yield Diagnostic(
                INVALID_NAME,
                address,
                f"the {kind} `{key}={value}` in `{owner}` has an invalid value",
                at,
                hint=f"use at most {MAX_NAME} letters, digits, dashes, dots and underscores, starting and ending with "
                "a letter or digit",
            )
