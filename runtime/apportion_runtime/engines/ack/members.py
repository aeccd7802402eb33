"""The pods that ACK's scheduler knows: each one's quota and gang, and what those use that have a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apportion_api.ack.names import GANG_MIN_LABEL, GANG_NAME_LABEL
from apportion_runtime.admission.objects import labels_of
from apportion_runtime.engines.ack.amounts import Amounts
from apportion_runtime.engines.ack.tree import Tree
from apportion_runtime.engines.ack.victims import add
from apportion_runtime.sim.scenario.format import Manifest


@dataclass(frozen=True, slots=True)
class Member:
    """A pod.

    Attributes:
        quota: The full name of the node of the tree that it counts at; None where it counts nowhere.
        gang: What names its gang; a pod that is in none is one by itself, by its uid.
        minimum: How many pods of the gang get their places together.
        since: When it was made, in seconds since 1970.
    """

    quota: str | None
    gang: str
    minimum: int
    since: float


class Members:
    """The pods by uid, and what is used of each quota.

    Attributes:
        used: By full name of a quota what its pods use that have a place, with everything below it.
        touched: The quotas of which that changed; whoever looks clears it.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[str, Member] = {}
        self._placed: dict[str, dict[str, Amounts]] = {}
        self._n_in: dict[str, int] = {}
        self._of_quota: dict[str, dict[str, None]] = {}
        self.touched: dict[str, None] = {}
        self.used: dict[str, dict[str, int]] = {path: {} for path in tree.quotas}

    def __getitem__(self, uid: str) -> Member:
        return self._known[uid]

    def take_in(self, made: Manifest, now: float) -> None:
        """A pod was made."""
        metadata = made["metadata"]
        labels = labels_of(made)
        gang, minimum = metadata["uid"], 1
        name, least = labels.get(GANG_NAME_LABEL, ""), labels.get(GANG_MIN_LABEL, "")
        if name and least.isdecimal():
            gang, minimum = f"{metadata['namespace']}/{name}", int(least)
        self._known[metadata["uid"]] = Member(self._tree.quota_of(made), gang, minimum, now)
        self._n_in[gang] = self._n_in.get(gang, 0) + 1

    def place(self, uid: str, request: Amounts) -> None:
        """A pod got its place."""
        member = self._known[uid]
        self._placed.setdefault(member.gang, {})[uid] = request
        self.use(member.quota, request)
        if member.quota is not None:
            self._of_quota.setdefault(member.quota, {})[uid] = None
            self.touched[member.quota] = None

    def left(self, uid: str) -> bool:
        """A pod is gone; tell whether it was the last one of its gang."""
        member = self._known.pop(uid, None)
        if member is None:
            return False
        request = self._placed.get(member.gang, {}).pop(uid, None)
        if request is not None:
            self.give_back(member.quota, request)
            if member.quota is not None:
                del self._of_quota[member.quota][uid]
                self.touched[member.quota] = None
        self._n_in[member.gang] -= 1
        if self._n_in[member.gang]:
            return False
        del self._n_in[member.gang]
        self._placed.pop(member.gang, None)
        return True

    def n_placed(self, gang: str) -> int:
        """Return how many pods of a gang have a place."""
        return len(self._placed.get(gang, ()))

    def placed(self, quota: str) -> Iterator[tuple[str, Amounts]]:
        """Yield the pods of a quota that have a place, and what they ask for."""
        for uid in self._of_quota.get(quota, ()):
            yield uid, self._placed[self._known[uid].gang][uid]

    def use(self, quota: str | None, request: Amounts) -> None:
        """Count what a pod asks for, also of one whose place is only assumed."""
        if quota is not None:
            add(self._tree, self.used, quota, request)

    def give_back(self, quota: str | None, request: Amounts) -> None:
        """Count it no more."""
        if quota is not None:
            add(self._tree, self.used, quota, request, sign=-1)
