"""A gang that waits for its shared devices, and how cycles read its pods meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apportion_runtime.kube.bind_retries import RETRIED_S
from apportion_runtime.kube.cluster import Key, Manifest, key_of
from apportion_runtime.kube.gang_binding import Placement, as_bound
from apportion_runtime.kube.gpu_groups import labelled, labelled_groups


@dataclass(slots=True)
class HeldGang:
    """The pods of one gang that were decided in one cycle.

    Attributes:
        job: The gang.
        placements: The placements by uid of the pod; the pods may have changed since.
        until_s: When their devices must be reserved, on the clock.
        reserved: The groups whose reservation pods exist.
        is_sent: Whether the binds were sent.
        retried_until_s: When binds that fail are given up, on the clock; None if none has failed.
    """

    job: str
    placements: dict[str, Placement]
    until_s: float
    reserved: set[str] = field(default_factory=set)
    is_sent: bool = False
    retried_until_s: float | None = None

    @property
    def nodes(self) -> dict[str, Placement]:
        """A placement for each group of a shared device."""
        return {group: one for one in self.placements.values() if one.share for group in one.share.groups}


def with_retry(gang: HeldGang, pods: Mapping[Key, Manifest], now_s: float) -> Iterator[HeldGang]:
    """Yield a gang, and as another one its pods whose bind was sent and failed: it is sent again."""
    yield gang
    if not gang.is_sent:
        return
    until_s = now_s + RETRIED_S if gang.retried_until_s is None else gang.retried_until_s
    failed = {uid: one for uid, one in gang.placements.items() if _is_unbound(pods.get(key_of(one.pod)), uid)}
    if failed and now_s < until_s:
        yield HeldGang(gang.job, failed, gang.until_s, set(gang.reserved), retried_until_s=until_s)


def is_left(pod: Manifest | None, uid: str) -> bool:
    """Return whether a pod still exists, and is not being deleted."""
    return pod is not None and pod["metadata"].get("uid") == uid and "deletionTimestamp" not in pod["metadata"]


def as_held(pod: Manifest, placement: Placement) -> Manifest:
    """Return a pod of a gang that waits, as if it were bound."""
    if "deletionTimestamp" in pod["metadata"]:
        return pod
    made = as_bound(pod, placement.node)
    return made if placement.share is None else labelled(made, placement.share.groups)


def confirmed(pod: Manifest, placement: Placement) -> Manifest:
    """Return a pod whose bind was sent with its labels, which the watch may deliver after the bind."""
    share = placement.share
    if share is None or not pod["spec"].get("nodeName") or set(labelled_groups(pod)) == set(share.groups):
        return pod
    return labelled(pod, share.groups)


def _is_unbound(pod: Manifest | None, uid: str) -> bool:
    return pod is not None and is_left(pod, uid) and not pod["spec"].get("nodeName")
