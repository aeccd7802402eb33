"""The nodes of an ElasticQuotaTree: names, namespaces, and consistent minima and maxima."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apportion_api.ack.names import LEND_LIMIT_ATTRIBUTE, ROOT
from apportion_api.ack.objects import ElasticQuotaTree, QuotaNode
from apportion_api.embedded_json import json_value
from apportion_compiler.engine_rules.quota_amounts import read_amounts
from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_policy.quantity import kubernetes_text


@dataclass(frozen=True, slots=True)
class Tree:
    """The names and paths of nodes, which other objects reference."""

    names: frozenset[str]
    paths: frozenset[str]


@dataclass(slots=True)
class _SeenNames:
    names: dict[str, str] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)
    keys: dict[str, None] = field(default_factory=dict)


def read_tree(tree: ElasticQuotaTree) -> Tree:
    """Return the names and paths of nodes."""
    nodes = list((tree.root or QuotaNode()).walk())
    return Tree(
        frozenset(node.name for _, _, node in nodes if node.name is not None) | {ROOT},
        frozenset(path for path, _, _ in nodes),
    )


def node_verdicts(index: int, tree: ElasticQuotaTree) -> Iterator[Verdict]:
    """Yield the faults of a tree's nodes."""
    if tree.root is None or any(fault.path == "spec.root" for fault in tree.faults):
        yield Verdict(Effect.REJECTED, index, "spec.root", "Required", "a tree must have a root", "add the root")
        return
    nodes = [(path, node) for path, _, node in tree.root.walk()]
    seen = _SeenNames(keys={key: None for _, node in nodes for part in _lists(node).values() for key in part})
    amounts = {
        node.at: {part: read_amounts(index, _lists(node)[part], f"{node.at}.{part}") for part in ("min", "max")}
        for _, node in nodes
    }
    for path, node in nodes:
        least, most = (amounts[node.at][part] for part in ("min", "max"))
        yield from (*least.verdicts, *most.verdicts)
        yield from _names(index, node, seen)
        yield from _namespaces(index, path, node, seen)
        yield from _missing(index, node, seen.keys)
        yield from _pair(index, node, least.values, most.values, is_root=node is tree.root)
        if node.children:
            below = [amounts[child.at] for child in node.children]
            yield from _sums(index, node, least.values, [child["min"].values for child in below])
            for child, numbers in zip(node.children, below, strict=True):
                yield from _bounds(index, child, node, numbers["max"].values, most.values)
        yield from _unread(index, node)


def _lists(node: QuotaNode) -> Mapping[str, Mapping[str, object]]:
    return {"min": node.minimum, "max": node.maximum}


def _names(index: int, node: QuotaNode, seen: _SeenNames) -> Iterator[Verdict]:
    at = f"{node.at}.name"
    if node.name is None:
        yield Verdict(Effect.REJECTED, index, at, "Required", "a node must have a name", "set a name")
        return
    if node.name in seen.names:
        message = f"{seen.names[node.name]} is also named {node.name}; names must be unique in the tree"
        yield Verdict(Effect.REJECTED, index, at, "Duplicate", message, "give the node a unique name")
    seen.names.setdefault(node.name, node.at)
    if "/" in node.name or "." in node.name:
        message = f"kube-queue identifies quotas by path, and a dot or slash in {node.name} splits the path"
        yield Verdict(Effect.IGNORED, index, at, "Invalid", message, "use letters, digits and dashes")


def _namespaces(index: int, path: str, node: QuotaNode, seen: _SeenNames) -> Iterator[Verdict]:
    at = f"{node.at}.namespaces"
    if node.namespaces and node.children:
        message = "only leaves can have namespaces, but this node has children"
        yield Verdict(Effect.REJECTED, index, at, "Forbidden", message, "move the namespaces to a child node")
    for number, namespace in enumerate(node.namespaces):
        if namespace in seen.namespaces:
            message = f"namespace {namespace} already belongs to {seen.namespaces[namespace]}"
            yield Verdict(
                Effect.REJECTED,
                index,
                f"{at}[{number}]",
                "Duplicate",
                message,
                "remove the namespace from one of the nodes",
            )
        seen.namespaces.setdefault(namespace, path)


def _missing(index: int, node: QuotaNode, keys: Mapping[str, None]) -> Iterator[Verdict]:
    for part, effect in (
        ("min", "as zero in some places and as unlimited in others"),
        ("max", "as unlimited"),
    ):
        absent = [key for key in keys if key not in _lists(node)[part]]
        if absent:
            message = f"{part} does not set {', '.join(absent)}; ACK treats missing amounts {effect}"
            cure = "set the same resources on every node in the tree"
            yield Verdict(Effect.IGNORED, index, f"{node.at}.{part}", "Required", message, cure)


def _pair(
    index: int, node: QuotaNode, least: Mapping[str, int], most: Mapping[str, int], *, is_root: bool
) -> Iterator[Verdict]:
    for key, amount in least.items():
        at = f"{node.at}.min.{key}"
        if key in most and amount > most[key]:
            message = f"min {kubernetes_text(node.minimum[key])} exceeds max {kubernetes_text(node.maximum[key])}"
            yield Verdict(Effect.REJECTED, index, at, "Invalid", message, "lower min, or raise max")
        elif is_root and key in most and amount != most[key]:
            message = (
                f"the root's min and max must be equal, but min is {kubernetes_text(node.minimum[key])} and max is "
            )
            yield Verdict(
                Effect.REJECTED,
                index,
                at,
                "Invalid",
                message + kubernetes_text(node.maximum[key]),
                "set min and max to the cluster's capacity",
            )


def _sums(
    index: int, node: QuotaNode, least: Mapping[str, int], below: Sequence[Mapping[str, int]]
) -> Iterator[Verdict]:
    for key, held in least.items():
        total = sum(child.get(key, 0) for child in below)
        if total > held:
            message = (
                f"the children's min values for {key} add up to more than the node's min, "
                f"{kubernetes_text(node.minimum[key])}"
            )
            yield Verdict(
                Effect.REJECTED,
                index,
                f"{node.at}.min.{key}",
                "Invalid",
                message,
                "raise the node's min, or lower a child's min",
            )


def _bounds(
    index: int, child: QuotaNode, parent: QuotaNode, most: Mapping[str, int], parents: Mapping[str, int]
) -> Iterator[Verdict]:
    for key, amount in most.items():
        if key in parents and amount > parents[key]:
            message = (
                f"max {kubernetes_text(child.maximum[key])} exceeds the parent's max, "
                f"{kubernetes_text(parent.maximum[key])}"
            )
            yield Verdict(
                Effect.REJECTED, index, f"{child.at}.max.{key}", "Invalid", message, "lower max to the parent's max"
            )


def _unread(index: int, node: QuotaNode) -> Iterator[Verdict]:
    for name in node.unknown:
        message = f"tree nodes have no field {name}"
        yield Verdict(Effect.IGNORED, index, f"{node.at}.{name}", "Unknown", message, f"remove {name}")
    lending_limit = node.attributes.get(LEND_LIMIT_ATTRIBUTE)
    if lending_limit:
        try:
            is_map = isinstance(json_value(lending_limit), dict)
        except ValueError:
            is_map = False
        if not is_map:
            at = f"{node.at}.attributes[{LEND_LIMIT_ATTRIBUTE}]"
            message = "kube-queue ignores a value that is not a JSON object mapping resource names to quantities"
            yield Verdict(Effect.IGNORED, index, at, "Invalid", message, 'use a JSON object such as {"cpu": "4"}')
