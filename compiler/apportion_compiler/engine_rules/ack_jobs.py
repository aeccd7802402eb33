"""Jobs before kube-queue: which it never sees, and which it never lets go."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.ack.names import KOORDINATOR_QUOTA_LABEL, QUOTA_LABEL, SUSPEND_ANNOTATION
from apportion_compiler.engine_rules.ack_nodes import Tree
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.plain_objects import annotations_of, group_of, labels_of, mapping, text

_QUEUED = {
    ("batch", "Job"): ("spec", "suspend"),
    ("ray.io", "RayJob"): ("spec", "suspend"),
    **{("kubeflow.org", kind): ("spec", "runPolicy", "suspend") for kind in ("PyTorchJob", "TFJob", "MPIJob")},
}
"""Kinds that kube-queue queues, and the field that holds them back."""


def job_verdicts(index: int, manifest: Manifest, tree: Tree) -> Iterator[Verdict]:
    """Yield what becomes of a job that is made as the manifest says, in a cluster with a tree."""
    switch = _QUEUED.get((group_of(manifest), str(manifest.get("kind"))))
    if switch is None or mapping(manifest, "metadata").get("ownerReferences"):
        return
    suspended = mapping(manifest, *switch[:-1]).get(switch[-1]) is True
    noted = annotations_of(manifest).get(SUSPEND_ANNOTATION)
    namespace = text(manifest, "metadata", "namespace") or "default"
    field = ".".join(switch)
    if manifest.get("kind") == "RayJob" and suspended and not mapping(manifest, "spec").get("shutdownAfterJobFinishes"):
        yield Verdict(
            Effect.REJECTED,
            index,
            "spec.shutdownAfterJobFinishes",
            "Invalid",
            "KubeRay suspends no RayJob whose cluster outlives it",
            "write true",
        )
    if noted is not None and noted != "true":
        yield Verdict(
            Effect.IGNORED,
            index,
            f"metadata.annotations[{SUSPEND_ANNOTATION}]",
            "Invalid",
            f'{noted} does not hold the job back, only "true" does',
            'write "true"',
        )
    held = suspended or (noted == "true" and group_of(manifest) == "kubeflow.org")
    label = next((key for key in (QUOTA_LABEL, KOORDINATOR_QUOTA_LABEL) if key in labels_of(manifest)), None)
    quota = None if label is None else labels_of(manifest)[label]
    if label is not None and quota not in tree.names:
        yield Verdict(
            Effect.PENDING if held else Effect.IGNORED,
            index,
            f"metadata.labels[{label}]",
            "NotFound",
            f"the tree has no quota {quota}: the job doesn't belong to any elastic quota",
            "name a leaf of the tree, or none",
        )
    elif label is None and namespace not in tree.namespaces and held:
        yield Verdict(
            Effect.PENDING,
            index,
            "metadata.namespace",
            "NotFound",
            f"no leaf of the tree has namespace {namespace}: the job doesn't belong to any elastic quota",
            "add the namespace to a leaf",
        )
    if not held and (label is not None or namespace in tree.namespaces):
        yield Verdict(
            Effect.IGNORED,
            index,
            field,
            "Required",
            "the job is not suspended, so kube-queue never holds it back: its pods wait for the scheduler alone",
            "write true",
        )
