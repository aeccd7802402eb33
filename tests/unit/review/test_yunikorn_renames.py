"""A renamed queue on YuniKorn: running applications stay in the former queue, which drains."""

from __future__ import annotations

from typing import Any

from apportion_policy import Policy
from apportion_review.fates.cluster_objects import objects_under
from apportion_review.fates.records import Fate
from apportion_review.fates.yunikorn import yunikorn_fates

from .fit_clusters import compiled, policy_for


def _renamed(policy: Policy) -> Policy:
    (root,) = policy.queues
    children = tuple(
        child.model_copy(update={"id": "voice"}) if child.id == "speech" else child for child in root.children
    )
    return policy.model_copy(update={"queues": (root.model_copy(update={"children": children}),)})


def _pod(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": namespace},
        "spec": {
            "schedulerName": "yunikorn",
            "nodeName": "n",
            "containers": [{"name": "main", "resources": {"requests": {"nvidia.com/gpu": "8"}}}],
        },
        "status": {"phase": "Running"},
    }


def test_work_of_a_renamed_queue_has_an_unknown_fate() -> None:
    policy = policy_for("yunikorn")
    former, wanted = (list(compiled(side).objects) for side in (policy, _renamed(policy)))
    base = objects_under([_pod("speech"), _pod("vision")], (), former)
    renamed, kept = yunikorn_fates(base, objects_under(base, former, wanted), now=None).rows
    assert (renamed.workload.queue, renamed.base.fate, renamed.head.fate) == ("speech", Fate.ON_DEMAND, Fate.UNKNOWN)
    assert renamed.head.rule == "queue root.research.speech does not exist"
    assert renamed.is_worse
    assert (kept.workload.queue, kept.head.fate) == ("vision", Fate.ON_DEMAND)
