"""Top owners that wrap another owner: the wrapped one is grouped, with the labels and annotations of both.

Source: pkg/podgrouper/podgrouper/plugins/skiptopowner/skiptopowner.go, hub/hub.go at d5bc503a.
"""

from __future__ import annotations

from apportion_runtime.admission.grouping.default import Owners
from apportion_runtime.admission.objects import Manifest, annotations_of, kind_of, labels_of

_VERSIONED = frozenset((("argoproj.io/v1alpha1", "Workflow"), ("trainer.kubeflow.org/v1alpha1", "TrainJob")))
_ANY_VERSION = frozenset(
    (
        ("run.ai", "InferenceWorkload"),
        ("run.ai", "TrainingWorkload"),
        ("run.ai", "DistributedWorkload"),
        ("run.ai", "InteractiveWorkload"),
        ("run.ai", "DistributedInferenceWorkload"),
        ("nvidia.com", "DynamoGraphDeployment"),
    )
)


def below_skipped(top: Manifest, pod: Manifest, owners: Owners) -> tuple[Manifest, Owners]:
    """Return the owner to group by (the pod if all owners are skipped), and the chain of owners up to it."""
    is_top = True
    while (top.get("apiVersion"), top.get("kind")) in _VERSIONED or (is_top and kind_of(top) in _ANY_VERSION):
        below = owners[-2] if len(owners) > 1 else pod
        top, owners, is_top = _with_metadata_of(top, below), owners[:-1], False
    return top, owners


def _with_metadata_of(skipped: Manifest, below: Manifest) -> Manifest:
    metadata = dict(below.get("metadata") or {})
    metadata["labels"] = {**labels_of(skipped), **labels_of(below)}
    metadata["annotations"] = {**annotations_of(skipped), **annotations_of(below)}
    return {**below, "metadata": metadata}
