"""The settings of koord-queue that change which jobs are dequeued, and that this model does not have.

A simulation refuses them; the live scheduler reports and ignores them.

Source: koord-queue at 29043000, pkg/framework/plugins/elasticquota (attributes and labels of the tree) and
pkg/queue/queuepolicies (annotations and policies of Queues).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from apportion_api.ack.objects import ElasticQuotaTree, Queue
from apportion_api.objects import read
from apportion_runtime.admission.objects import Manifest, labels_of, name_of
from apportion_runtime.kube_queue.queues import is_queue

_PREEMPT_POLICY, _PREEMPT_LOWER = "preempt-policy", "PreemptLowerPriority"
_PREFIXES = ("kube-queue", "koord-queue")
_MAX_PREEMPTIBLE_JOBS = "max-preempible-jobs"
"""koord-queue's spelling."""
_WAIT_FOR_PODS, _MAX_DEPTH = "wait-for-pods-running", "max-depth"
_INTELLIGENT = "Intelligent"


@dataclass(frozen=True, slots=True)
class UnsupportedSetting:
    """A setting: the kind and the name of its object, its field, and its value."""

    kind: str
    name: str
    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.what}"

    @property
    def what(self) -> str:
        """The setting as a clause."""
        return f"{self.field} is `{self.value}`, which is not supported"


def unsupported_settings(tree: Manifest, queues: Iterable[Manifest]) -> Iterator[UnsupportedSetting]:
    """Yield the unsupported settings of a valid tree, and of Queues."""
    root = read(ElasticQuotaTree, tree).root
    kind, name = "ElasticQuotaTree", name_of(tree)
    for _, _, node in () if root is None else root.walk():
        if node.attributes.get(_PREEMPT_POLICY) == _PREEMPT_LOWER:
            yield UnsupportedSetting(kind, name, f"{node.at}.attributes[{_PREEMPT_POLICY}]", _PREEMPT_LOWER)
    for prefix in _PREFIXES:
        key = f"{prefix}/{_MAX_PREEMPTIBLE_JOBS}"
        if key in labels_of(tree):
            yield UnsupportedSetting(kind, name, f"the label {key}", str(labels_of(tree)[key]))
    for made in filter(is_queue, queues):
        yield from _of_queue(read(Queue, made))


def _of_queue(queue: Queue) -> Iterator[UnsupportedSetting]:
    if queue.policy == _INTELLIGENT:
        yield UnsupportedSetting("Queue", queue.name, "spec.queuePolicy", _INTELLIGENT)
    for prefix in _PREFIXES:
        waits, depth = f"{prefix}/{_WAIT_FOR_PODS}", f"{prefix}/{_MAX_DEPTH}"
        if queue.annotations.get(waits) == "true":
            yield UnsupportedSetting("Queue", queue.name, f"the annotation {waits}", "true")
        if queue.annotations.get(depth):
            yield UnsupportedSetting("Queue", queue.name, f"the annotation {depth}", queue.annotations[depth])
