"""The Queue objects: one for each node of the tree, including inner nodes and the root; missing ones are created.

kube-queue finds the queue of a quota by the annotation with the quota's path, never by the queue's generated name.
Source: koordinator-sh/koord-queue at 298e9a8c, elastic_quota_tree.go (Mapping, syncQueues).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from apportion_api.ack.names import (
    AVAILABLE_QUOTA_ANNOTATION,
    FULL_NAME_ANNOTATION,
    GENERATED_LABEL,
    PARENT_NAME_ANNOTATION,
    QUEUE_API,
    QUEUE_GROUP,
    QUEUE_NAME_ANNOTATION,
    QUEUE_NAMESPACE,
)
from apportion_runtime.admission.generated_names import generated_name
from apportion_runtime.admission.objects import Manifest, annotations_of, kind_of, namespace_of
from apportion_runtime.kube_queue.job_queue import Policy, QueueSettings, read_queue
from apportion_runtime.kube_queue.queueing import Queueing
from apportion_runtime.kube_queue.tree import Quota, Tree

_LONGEST = 58


def is_queue(made: Manifest) -> bool:
    """Return whether an object is a queue that kube-queue reads."""
    return kind_of(made) == (QUEUE_GROUP, "Queue") and namespace_of(made) == QUEUE_NAMESPACE


_POLICIES: Mapping[Queueing, Mapping[Policy, Policy]] = {
    Queueing.ACK: {policy: policy for policy in Policy},
    Queueing.KOORD_QUEUE: {Policy.PRIORITY: Policy.PRIORITY, Policy.BLOCK: Policy.BLOCK},
    Queueing.KUBE_QUEUE: {Policy.ROUND: Policy.ROUND, Policy.PRIORITY: Policy.ROUND},
}
"""The policies of each implementation, the one of created queues first. kube-queue's policy is the name of a plugin that
sorts jobs, `Priority`, and its queues behave as ACK's `Round`."""


def settings(
    tree: Tree, objects: Iterable[Manifest], queueing: Queueing = Queueing.ACK
) -> tuple[dict[str, QueueSettings], list[dict[str, Any]]]:
    """Return the queues by name, and objects for the missing ones. Raises `ValueError`."""
    known: dict[str, QueueSettings] = {}
    for made in objects:
        if is_queue(made):
            read = read_queue(made)
            known[read.name] = _with_policy_of(queueing, read)
    taken = {each.quota for each in known.values()}
    policy = next(iter(_POLICIES[queueing]))
    missing = [_generated(quota, policy) for path, quota in tree.quotas.items() if path not in taken]
    known.update((made["metadata"]["name"], read_queue(made)) for made in missing)
    return known, missing


def _with_policy_of(queueing: Queueing, queue: QueueSettings) -> QueueSettings:
    policies = _POLICIES[queueing]
    if queue.policy not in policies:
        known = " or ".join(policy.value for policy in policies)
        raise ValueError(
            f"Queue {queue.name}: {queueing.value} has no spec.queuePolicy `{queue.policy.value}`; use {known}"
        )
    return replace(queue, policy=policies[queue.policy])


def _generated(quota: Quota, policy: Policy) -> dict[str, Any]:
    prefix = (quota.path.lower().replace("/", "-").replace("_", "-") + "-")[-_LONGEST:]
    parent = "" if quota.parent is None else quota.parent.rpartition("/")[2]
    return {
        "apiVersion": QUEUE_API,
        "kind": "Queue",
        "metadata": {
            "name": generated_name(prefix, quota.path),
            "generateName": prefix,
            "namespace": QUEUE_NAMESPACE,
            "labels": {GENERATED_LABEL: "true"},
            "annotations": {FULL_NAME_ANNOTATION: quota.path, PARENT_NAME_ANNOTATION: parent},
        },
        "spec": {"queuePolicy": policy.value},
        "status": {"queueItemDetails": {"active": [], "backoff": []}},
    }


def default_queue(quota: Quota, queues: Iterable[QueueSettings]) -> str:
    """Return the name of the queue for the jobs of a quota that select none."""
    return next(each.name for each in queues if each.quota == quota.path)


def queue_of(job: Manifest, quota: Quota, queues: Iterable[QueueSettings], objects: Iterable[Manifest]) -> str:
    """Return the name of the queue for a job of a quota.

    Raises:
        ValueError: If the job selects a queue that does not accept it, with kube-queue's message.
    """
    asked = annotations_of(job).get(QUEUE_NAME_ANNOTATION, "")
    if not asked:
        return default_queue(quota, queues)
    found = next((made for made in objects if is_queue(made) and made["metadata"]["name"] == asked), None)
    if found is None:
        raise ValueError("failed to find queue object in cluster")
    available = annotations_of(found).get(AVAILABLE_QUOTA_ANNOTATION, "").split(",")
    if "*" not in available and quota.name not in available:
        raise ValueError(f"quota {quota.name} is not available in queue {asked}")
    return asked
