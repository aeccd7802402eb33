"""The settings of koord-queue that change which jobs are released, and that are not simulated.

Source: koord-queue at 29043000, pkg/framework/plugins/elasticquota (attributes and labels of the tree) and
pkg/queue/queuepolicies (annotations and policies of Queues).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apportion_api.ack.objects import ElasticQuotaTree, Queue
from apportion_api.objects import read
from apportion_runtime.admission.objects import Manifest, labels_of
from apportion_runtime.kube_queue.queues import is_queue

_PREEMPT_POLICY, _PREEMPT_LOWER = "preempt-policy", "PreemptLowerPriority"
_PREFIXES = ("kube-queue", "koord-queue")
_MAX_PREEMPTIBLE_JOBS = "max-preempible-jobs"
"""koord-queue's spelling."""
_WAIT_FOR_PODS, _MAX_DEPTH = "wait-for-pods-running", "max-depth"
_INTELLIGENT = "Intelligent"


def unsupported(tree: Manifest, queues: Iterable[Manifest]) -> Iterator[str]:
    """Yield each setting that is not simulated, with its object, field and value."""
    root = read(ElasticQuotaTree, tree).root
    name = f"ElasticQuotaTree {tree['metadata']['name']}"
    for _, _, node in () if root is None else root.walk():
        if node.attributes.get(_PREEMPT_POLICY) == _PREEMPT_LOWER:
            yield f"{name}: {node.at}.attributes[{_PREEMPT_POLICY}] is `{_PREEMPT_LOWER}`, which is not simulated"
    for prefix in _PREFIXES:
        key = f"{prefix}/{_MAX_PREEMPTIBLE_JOBS}"
        if key in labels_of(tree):
            yield f"{name}: the label {key} is `{labels_of(tree)[key]}`, which is not simulated"
    for made in filter(is_queue, queues):
        queue = read(Queue, made)
        if queue.policy == _INTELLIGENT:
            yield f"{queue}: spec.queuePolicy is `{_INTELLIGENT}`, which is not simulated"
        for prefix in _PREFIXES:
            waits, depth = f"{prefix}/{_WAIT_FOR_PODS}", f"{prefix}/{_MAX_DEPTH}"
            if queue.annotations.get(waits) == "true":
                yield f"{queue}: the annotation {waits} is `true`, which is not simulated"
            if queue.annotations.get(depth):
                yield f"{queue}: the annotation {depth} is `{queue.annotations[depth]}`, which is not simulated"
