"""The pods of ACK's scheduler: the quota and gang of each, and the usage of placed pods."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from apportion_api.ack.names import GANG_MIN_LABEL, GANG_NAME_LABEL
from apportion_runtime.admission.objects import labels_of
from apportion_runtime.engines.ack.victims import add
from apportion_runtime.kube_queue.amounts import Amounts
from apportion_runtime.kube_queue.tree import Tree
from apportion_runtime.sim.scenario.format import Manifest


@dataclass(frozen=True, slots=True)
class Member:
    """A pod.

    Attributes:
        quota: The path of its quota in the tree; None if it has none.
        gang: The key of its gang; its uid if it is in none.
        minimum: The minimum number of pods of the gang.
        since: Its creation time, in seconds since 1970.
        number: Its place in the order of creation.
    """

    quota: str | None
    gang: str
    minimum: int
    since: float
    number: int


class Members:
    """The pods by uid, and the usage of each quota.

    Attributes:
        used: The usage of placed pods by path of the quota, including its descendants.
        touched: The quotas whose usage changed; the reader clears it.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[str, Member] = {}
        self._placed: dict[str, dict[str, Amounts]] = {}
        self._n_in: dict[str, int] = {}
        self._of_quota: dict[str, dict[int, dict[str, Amounts]]] = {}
        self._priority: dict[str, int] = {}
        self._n_known = 0
        self.touched: dict[str, None] = {}
        self.used: dict[str, dict[str, int]] = {path: {} for path in tree.quotas}

    def __getitem__(self, uid: str) -> Member:
        return self._known[uid]

    def add(self, made: Manifest, now: float) -> None:
        """Add a new pod."""
        metadata = made["metadata"]
        labels = labels_of(made)
        gang, minimum = metadata["uid"], 1
        name, least = labels.get(GANG_NAME_LABEL, ""), labels.get(GANG_MIN_LABEL, "")
        if name and least.isdecimal():
            gang, minimum = f"{metadata['namespace']}/{name}", int(least)
        self._n_known += 1
        self._known[metadata["uid"]] = Member(self._tree.quota_of(made), gang, minimum, now, self._n_known)
        self._n_in[gang] = self._n_in.get(gang, 0) + 1

    def place(self, uid: str, request: Amounts, priority: int) -> None:
        """Charge a placed pod to its quota."""
        member = self._known[uid]
        self._placed.setdefault(member.gang, {})[uid] = request
        self.use(member.quota, request)
        if member.quota is not None:
            self._of_quota.setdefault(member.quota, {}).setdefault(priority, {})[uid] = request
            self._priority[uid] = priority
            self.touched[member.quota] = None

    def left(self, uid: str) -> bool:
        """Remove a pod; return whether it was the last one of its gang."""
        member = self._known.pop(uid, None)
        if member is None:
            return False
        request = self._placed.get(member.gang, {}).pop(uid, None)
        if request is not None:
            self.release(member.quota, request)
            if member.quota is not None:
                del self._of_quota[member.quota][self._priority.pop(uid)][uid]
                self.touched[member.quota] = None
        self._n_in[member.gang] -= 1
        if self._n_in[member.gang]:
            return False
        del self._n_in[member.gang]
        self._placed.pop(member.gang, None)
        return True

    def n_placed(self, gang: str) -> int:
        """Return the number of placed pods of a gang."""
        return len(self._placed.get(gang, ()))

    def placed(self, quota: str, below: float = math.inf) -> Iterator[tuple[str, int, Amounts]]:
        """Yield the placed pods of a quota of a priority below a value, with their priorities and requests."""
        for priority, of_priority in self._of_quota.get(quota, {}).items():
            if priority < below:
                for uid, request in of_priority.items():
                    yield uid, priority, request

    def use(self, quota: str | None, request: Amounts) -> None:
        """Charge a pod's request, including that of an assumed pod."""
        if quota is not None:
            add(self._tree, self.used, quota, request)

    def release(self, quota: str | None, request: Amounts) -> None:
        """Release a pod's request."""
        if quota is not None:
            add(self._tree, self.used, quota, request, sign=-1)
