"""AP208: a minimum runtime that KAI never reads, or reads at a different level than expected.

KAI looks up a reclaim minimum at the child of the lowest common ancestor of the two queues on the victim's side, and
from there upwards (`reclaimResolveMethod: lca`, the default); between two top-level queues, only at the victim's
top-level queue. So a value on a leaf protects only against its siblings; reclaim from elsewhere in the tree is subject
to a value further up. A preempt minimum is looked up from the victim's leaf upwards.

Source: KAI-Scheduler plugins/minruntime/resolver.go, resolveReclaimMinRuntimeLCA, resolvePreemptMinRuntime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apportion_compiler.checks.engines import scopes_on
from apportion_compiler.diagnostics.diagnostic import Applicability, Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.graph.node import Node
from apportion_compiler.graph.preemptibility import is_preemptible
from apportion_compiler.graph.values import QueueValues
from apportion_policy.duration import duration_text, parse_duration
from apportion_policy.engine import Engine
from apportion_policy.engine_settings import KaiSettings

MINIMUM_RUNTIME_INEFFECTIVE = Rule(
    "AP208",
    "minimum-runtime-ineffective",
    Severity.WARNING,
    "a minimum runtime is enforced only in part, or not at all",
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the two minimums: its field, and its value in a scope, in seconds."""

    field: str
    value: Callable[[QueueValues], int | None]


_RECLAIM = _Kind("reclaim_min_runtime", lambda own: own.reclaim_min_runtime)
_PREEMPT = _Kind("preempt_min_runtime", lambda own: own.preempt_min_runtime)


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with the value of a queue."""

    message: str
    hint: str
    related: tuple[Related, ...] = ()
    fix: ValueEdit | None = None


def minimum_runtime_ineffective(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare each declared minimum with where KAI looks it up."""
    reported: set[tuple[str, str]] = set()
    for scope, default in _scopes(graph):
        for id_, own in scope.values.items():
            for kind in (_RECLAIM, _PREEMPT):
                seconds = kind.value(own)
                # A minimum of 0 asks for no protection.
                if not seconds or (id_, kind.field) in reported:
                    continue
                node = graph.nodes[id_]
                fault = _nothing_to_protect(graph, node, kind) or _unread(graph, scope, node, kind)
                if fault is None and kind is _RECLAIM:
                    fault = _read_elsewhere(graph, scope, node, seconds, default)
                if fault is not None:
                    reported.add((id_, kind.field))
                    yield _finding(scope, node, kind, seconds, fault)


def _scopes(graph: PolicyGraph) -> Iterator[tuple[Scope, int]]:
    """Yield the scopes of KAI clusters, with the default reclaim minimum in seconds."""
    settings = [c.kai for _, c in graph.declarations.clusters if c.engine is Engine.KAI] or [KaiSettings()]
    defaults = {_seconds(kai.reclaim_min_runtime) for kai in settings}
    # Without full hierarchy fairness, KAI removes the inner queues from the tree, and values are read elsewhere.
    whole = [kai.full_hierarchy_fairness for kai in settings]
    for scope in scopes_on(graph, {Engine.KAI}):
        if scope.cluster is not None:
            if scope.cluster.kai.full_hierarchy_fairness:
                yield scope, _seconds(scope.cluster.kai.reclaim_min_runtime)
        elif len(defaults) == 1 and all(whole):
            yield scope, min(defaults)


def _seconds(duration: object) -> int:
    return 0 if duration is None else parse_duration(str(duration))


def _nothing_to_protect(graph: PolicyGraph, node: Node, kind: _Kind) -> _Fault | None:
    """Report a minimum on a queue without preemptible workloads, or without workloads of different priorities."""
    if not graph.declarations.priority_classes:
        return None
    for leaf in _leaves(graph, node):
        values = [(cls.value, is_preemptible(cls)) for cls in graph.allowed_classes[leaf.id]]
        victims = [value for value, preemptible in values if preemptible]
        if victims and (kind is _RECLAIM or min(victims) < max(value for value, _ in values)):
            return None
    if kind is _RECLAIM:
        why = "has no effect: its workloads may use only non-preemptible priority classes, so they are never reclaimed"
    else:
        why = "has no effect: its workloads may use no class above the preemptible ones, so they are never preempted"
    return _Fault(why, f"remove `{kind.field}` from `{node.id}`", (), _removal(node, kind))


def _leaves(graph: PolicyGraph, node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        each = stack.pop()
        if each.is_leaf:
            yield each
        stack.extend(graph.nodes[child] for child in each.children)


def _unread(graph: PolicyGraph, scope: Scope, node: Node, kind: _Kind) -> _Fault | None:
    """Report a minimum that KAI never reads: it reads those of queues with siblings, and inherited ones."""
    if kind is _RECLAIM and _is_contended(graph, node):
        return None
    if kind is _PREEMPT and node.is_leaf:
        return None
    stack = [node]
    while stack:
        each = stack.pop()
        silent = [child for child in each.children if kind.value(scope.values[child]) is None]
        # Nothing is reclaimed within one branch, and a leaf without its own value inherits one for preemption.
        if silent and (len(each.children) > 1 if kind is _RECLAIM else any(graph.nodes[c].is_leaf for c in silent)):
            return None
        stack.extend(graph.nodes[child] for child in silent)
    if node.is_leaf or all(kind.value(scope.values[child]) is None for child in node.children):
        above = f"`{node.parent}` has no other child" if node.parent is not None else "it is the only top-level queue"
        why = f"has no effect: KAI applies it only when a sibling queue reclaims resources, but {above}"
    else:
        why = "has no effect: every queue below it sets its own value"
    return _Fault(why, f"remove `{kind.field}` from `{node.id}`", (), _removal(node, kind))


def _is_contended(graph: PolicyGraph, node: Node) -> bool:
    """Return whether the queue has siblings; top-level queues are siblings of each other."""
    return len(graph.nodes[node.parent].children if node.parent is not None else graph.roots) > 1


def _read_elsewhere(graph: PolicyGraph, scope: Scope, node: Node, seconds: int, default: int) -> _Fault | None:
    """Return the ancestor at which workloads are protected for the shortest time against reclaim from outside."""
    weak: list[_Level] = []
    held, holder = default, None
    for id_ in node.path[:-1]:
        each = graph.nodes[id_]
        own = scope.values[id_].reclaim_min_runtime
        if own is not None:
            held, holder = own, each
        if held < seconds and _is_contended(graph, each):
            weak.append(_Level(each, held, holder))
    if not weak:
        return None
    level = min(weak, key=lambda each: each.held)
    reported = duration_text(seconds)
    source = f"the value set on `{level.holder.id}`" if level.holder is not None else "the default"
    return _Fault(
        f"protects only against queues below `{node.parent}`: KAI lets queues outside `{level.node.id}` reclaim its "
        f"workloads after {duration_text(level.held)}, {source}",
        f"set `reclaim_min_runtime` to {reported} in `{level.node.id}`",
        (Related(level.node.queue.source, f"`{level.node.id}` is the level at which KAI compares queues for reclaim"),),
        _raised(scope, weak, reported),
    )


@dataclass(frozen=True, slots=True)
class _Level:
    """An ancestor, the seconds of protection against reclaim from outside it, and the queue with the value."""

    node: Node
    held: int
    holder: Node | None


def _raised(scope: Scope, weak: list[_Level], text: str) -> ValueEdit | None:
    """Return the edit of the single value that is missing or too small on every level; None if there is none."""
    holder = weak[0].holder
    if any(level.holder is not holder for level in weak) or scope.cluster is not None:
        return None
    # If no queue has a value, the uppermost level passes it on to the others.
    return ValueEdit((holder or weak[0].node).queue.source, (_RECLAIM.field,), text)


def _removal(node: Node, kind: _Kind) -> ValueEdit | None:
    written = getattr(node.queue, kind.field) is not None
    return ValueEdit(node.queue.source, (kind.field,), None, Applicability.SAFE) if written else None


def _finding(scope: Scope, node: Node, kind: _Kind, seconds: int, fault: _Fault) -> Diagnostic:
    return Diagnostic(
        MINIMUM_RUNTIME_INEFFECTIVE,
        node.address,
        f"`{node.id}` sets `{kind.field}` to {duration_text(seconds)}, which {fault.message}",
        node.queue.source,
        fault.related,
        fault.hint,
        fault.fix,
        scope.name,
    )
