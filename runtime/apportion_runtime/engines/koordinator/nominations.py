"""The nominations in the status of pods, which differ from those that the scheduler counts on nodes.

kube-scheduler 1.35 writes the node of a pod of a gang to `nominatedNodeName` as soon as the pod waits for the others
(NominatedNodeNameForExpectation). If the gang is rejected, the field is cleared only if it was set before the attempt. If
not, it stays, and the next event of the pod nominates it to that node: that is the condition with the reason of the
rejection, unless the pod was rejected for the same reason before. Koordinator means to keep nominations, but does not
recognize the rejection, because the status of a binding cycle names no plugin.

Source: kube-scheduler v1.35.6, pkg/scheduler/schedule_one.go (bindingCycle, handleSchedulingFailure, updatePod),
backend/queue/nominator.go (UpdateNominatedPod); pkg/scheduler/frameworkext/nominating_info_takeover.go
(TakeoverNominatingInfo) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_runtime.engines.kube_scheduler import PodFacts


class WrittenNominations:
    """The nodes in the status of pods.

    Args:
        counted: The nodes to which the scheduler counts pods as nominated, by uid; changed with the status.
    """

    def __init__(self, counted: dict[str, str]) -> None:
        self._counted = counted
        self._nodes: dict[str, str] = {}
        self._reasons: dict[str, str] = {}

    def read(self, waiting: Sequence[PodFacts]) -> None:
        """Read the nominations that pending pods had initially."""
        for pod in waiting:
            if pod.uid in self._counted:
                self._nodes.setdefault(pod.uid, self._counted[pod.uid])

    def node(self, uid: str) -> str:
        """Return the node in the status of a pod; empty if there is none."""
        return self._nodes.get(uid, "")

    def nominate(self, uid: str, node: str) -> None:
        """Nominate a pod for which others were preempted."""
        self._nodes[uid] = self._counted[uid] = node

    def withdraw(self, uid: str) -> str:
        """Withdraw a nomination; return the node that it counted on, empty if there was none."""
        self._nodes.pop(uid, None)
        return self._counted.pop(uid, "")

    def fail(self, uid: str) -> None:
        """Record that an attempt found no node: its nomination counts, until it is withdrawn or replaced."""
        self._reasons.pop(uid, None)
        if uid in self._nodes:
            self._counted[uid] = self._nodes[uid]

    def reject(self, uid: str, node: str, reason: str) -> None:
        """Record that a pod, which waited on a node, was rejected with its gang."""
        is_repeated = self._reasons.get(uid) == reason
        self._reasons[uid] = reason
        if self._nodes.pop(uid, None) is not None:
            return
        self._nodes[uid] = node
        if not is_repeated:
            self._counted[uid] = node

    def forget(self, uid: str) -> None:
        """Forget a pod, before another one has its name."""
        self._counted.pop(uid, None)
        self._nodes.pop(uid, None)
        self._reasons.pop(uid, None)
