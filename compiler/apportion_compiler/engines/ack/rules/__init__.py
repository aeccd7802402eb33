"""ACK's ElasticQuotaTree and kube-queue's Queue: the rules of ACK's documentation, and fields that kube-queue ignores.

The published CRD of ElasticQuotaTree accepts any tree, and ACK's own checks are not public: objects are reported as
rejected if the documentation forbids them (https://www.alibabacloud.com/help/doc-detail/2867056.html and
https://help.aliyun.com/zh/ack/ack-managed-and-ack-dedicated/user-guide/elasticquotatree). Ignored fields are from
koordinator-sh/koord-queue at 298e9a8c, pkg/framework/plugins/elasticquota.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.ack.names import (
    AVAILABLE_QUOTA_ANNOTATION,
    FULL_NAME_ANNOTATION,
    GENERATED_LABEL,
    QUEUE_NAMESPACE,
    ROOT,
    TREE_NAMESPACE,
)
from apportion_api.ack.objects import ElasticQuotaTree, Queue
from apportion_api.objects import is_a, read
from apportion_compiler.engine_rules.verdict import Effect, EngineRules, Manifest, Verdict
from apportion_compiler.engines.ack.rules.tree_nodes import Tree, node_verdicts, read_tree
from apportion_compiler.plain_objects import annotations_of, described, group_of, labels_of, name_of, text

_POLICIES = ("Round", "Block", "Priority", "FIFO", "Intelligent")
"""Policies of the hosted kube-queue and of koord-queue (pkg/queue/queuepolicies)."""


def check(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on trees and queues; `workload_rules` evaluates jobs."""
    replaced = {_identity(manifest) for manifest in manifests}
    kept = [manifest for manifest in existing if _identity(manifest) not in replaced]
    # The cluster's tree takes precedence.
    trees = [made for made in (*kept, *manifests) if is_a(ElasticQuotaTree, made)]
    counted = [made for made in trees if text(made, "metadata", "namespace") == TREE_NAMESPACE]
    tree = read_tree(read(ElasticQuotaTree, counted[0])) if counted else None
    paths: dict[str, str] = {}
    for index, manifest in enumerate(manifests):
        if is_a(ElasticQuotaTree, manifest):
            yield from _tree(index, manifest, counted)
            yield from node_verdicts(index, read(ElasticQuotaTree, manifest))
        elif is_a(Queue, manifest):
            yield from _queue(index, manifest, tree, paths)


RULES = EngineRules("ack", check)


def _tree(index: int, tree: Manifest, counted: Sequence[Manifest]) -> Iterator[Verdict]:
    namespace = text(tree, "metadata", "namespace")
    if namespace != TREE_NAMESPACE:
        yield Verdict(
            Effect.IGNORED,
            index,
            "metadata.namespace",
            "Invalid",
            f"ACK ignores trees in namespace {namespace or 'default'}; it reads only {TREE_NAMESPACE}",
            f"move the tree to namespace {TREE_NAMESPACE}",
        )
    elif counted[0] is not tree:
        yield Verdict(
            Effect.IGNORED,
            index,
            "",
            "Forbidden",
            f"another tree exists, {described(counted[0])}; ACK supports only one, and more than one corrupts the "
            "accounting",
            "merge the trees",
        )
    root = read(ElasticQuotaTree, tree).root
    if root is not None and root.name not in (None, ROOT):
        yield Verdict(
            Effect.IGNORED,
            index,
            "spec.root.name",
            "Invalid",
            f"kube-queue ignores this name; the root is always named {ROOT}",
            f"rename the root to {ROOT}",
        )


def _queue(index: int, queue: Manifest, tree: Tree | None, paths: dict[str, str]) -> Iterator[Verdict]:
    namespace = text(queue, "metadata", "namespace")
    if namespace != QUEUE_NAMESPACE:
        yield Verdict(
            Effect.IGNORED,
            index,
            "metadata.namespace",
            "Invalid",
            f"kube-queue reads queues only in {QUEUE_NAMESPACE}",
            f"move the Queue to namespace {QUEUE_NAMESPACE}",
        )
    policy = read(Queue, queue).policy
    if policy not in _POLICIES:
        yield Verdict(
            Effect.IGNORED,
            index,
            "spec.queuePolicy",
            "NotSupported",
            f"kube-queue has no {policy} policy and uses its default order",
            f"use one of {', '.join(_POLICIES)}",
        )
    yield from _queue_marks(index, queue, tree, paths)


def _queue_marks(index: int, queue: Manifest, tree: Tree | None, paths: dict[str, str]) -> Iterator[Verdict]:
    notes = annotations_of(queue)
    field = "metadata.annotations"
    if tree is not None:
        for quota in filter(None, notes.get(AVAILABLE_QUOTA_ANNOTATION, "").split(",")):
            if quota != "*" and quota not in tree.names:
                yield Verdict(
                    Effect.IGNORED,
                    index,
                    f"{field}[{AVAILABLE_QUOTA_ANNOTATION}]",
                    "NotFound",
                    f"the tree has no quota {quota}",
                    "use the name of a node in the tree",
                )
    path = notes.get(FULL_NAME_ANNOTATION)
    if path is not None and path in paths:
        yield Verdict(
            Effect.IGNORED,
            index,
            f"{field}[{FULL_NAME_ANNOTATION}]",
            "Duplicate",
            f"{paths[path]} already uses quota {path}, so jobs may be assigned to either queue",
            f"remove {paths[path]} or this queue",
        )
    elif path is not None:
        paths[path] = described(queue)
    if labels_of(queue).get(GENERATED_LABEL) == "true" and (tree is None or path not in tree.paths):
        yield Verdict(
            Effect.IGNORED,
            index,
            f"metadata.labels[{GENERATED_LABEL}]",
            "Invalid",
            "kube-queue deletes queues that it manages if their quota is missing from the tree",
            'use "false"',
        )


def _identity(manifest: Mapping[str, object]) -> tuple[object, ...]:
    return group_of(manifest), str(manifest.get("kind")), text(manifest, "metadata", "namespace"), name_of(manifest)
