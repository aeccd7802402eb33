"""ACK: workloads that kube-queue ignores or never resumes, and namespaces and quotas that are not in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.ack import names
from apportion_api.ack.objects import ElasticQuotaTree
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, Workload, WorkloadContext, listed
from apportion_compiler.plain_objects import annotations_of

_BY_FIELD = {("batch", "Job"), ("batch", "CronJob"), ("ray.io", "RayJob")}


def _suspension(context: WorkloadContext) -> Iterator[Verdict]:
    """Report workloads of kube-queue's Job-Extensions that are not suspended."""
    for workload in context.workloads:
        if workload.is_for_another("ack"):
            continue
        key = (workload.shape.group, workload.kind)
        if key in _BY_FIELD and not workload.suspended():
            assert workload.shape.suspend is not None
            yield workload.ignored(
                ".".join(workload.shape.suspend), "Required",
                "the workload is not suspended, so kube-queue never queues it, and its pods bypass the queue",
                "set suspend: true; kube-queue resumes the workload when its quota allows",
            )  # fmt: skip
        elif workload.is_of("kubeflow.org"):
            if annotations_of(workload.manifest).get(names.SUSPEND_ANNOTATION) != "true":
                yield workload.ignored(
                    f"metadata.annotations[{names.SUSPEND_ANNOTATION}]", "Required",
                    "without the annotation, kube-queue never queues the workload, and its pods bypass the queue",
                    f'set the annotation {names.SUSPEND_ANNOTATION}: "true"',
                )  # fmt: skip
        elif key not in _BY_FIELD and workload.suspended() and workload.shape.suspend is not None:
            yield workload.pending(
                ".".join(workload.shape.suspend), "NotSupported",
                f"the workload is suspended, but kube-queue does not support {workload.kind}, so it is never resumed",
                "remove suspend",
            )  # fmt: skip


def _quotas(context: WorkloadContext) -> Iterator[Verdict]:
    trees = {tree.name: tree for tree in context.read(ElasticQuotaTree)}
    if not trees:
        return
    nodes = [node for tree in trees.values() if tree.root is not None for _, _, node in tree.root.walk()]
    leaves = {node.name: node.namespaces for node in nodes if not node.children and node.name is not None}
    for workload in context.workloads:
        yield from _of_quota(workload, leaves)


def _of_quota(workload: Workload, leaves: Mapping[str, tuple[str, ...]]) -> Iterator[Verdict]:
    labels = {key: workload.values_of(key) for key in (names.QUOTA_LABEL, names.KOORDINATOR_QUOTA_LABEL)}
    for key, named in labels.items():
        for quota in sorted(named - leaves.keys()):
            yield workload.pending(
                f"metadata.labels[{key}]",
                "NotFound",
                f"the tree has no leaf named {quota}",
                f"use one of {listed(leaves)}",
            )
    waits = workload.suspended() or annotations_of(workload.manifest).get(names.SUSPEND_ANNOTATION) == "true"
    if waits and not any(labels.values()) and not any(workload.namespace in spaces for spaces in leaves.values()):
        yield workload.pending(
            "metadata.namespace", "NotFound",
            f"namespace {workload.namespace} doesn't belong to any elastic quota, so kube-queue never dequeues the workload",
            "add the namespace to a leaf node in the tree",
        )  # fmt: skip


RULES: tuple[Rule, ...] = (_suspension, _quotas)
