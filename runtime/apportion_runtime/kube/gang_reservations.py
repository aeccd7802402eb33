"""Gangs that share devices, from the decision to bind them until their devices are reserved and they are bound.

A gang with such pods is held as a whole: its reservation pods are created at once, and the cycles that follow regard its
pods as bound, until all reservation pods have reported their devices; then the gang is bound like any other. If one
does not, no pod of the gang is bound. Nothing is stored about held gangs: after a restart they are pending, and the
reservation pods that no bound pod uses are deleted.

Source: pkg/binder/binding/binder.go, pkg/binder/binding/resourcereservation/resource_reservation.go. There, each pod waits
in a thread of its own, and the other pods of its gang are bound meanwhile.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from apportion_runtime.core.session import Session
from apportion_runtime.core.status import BINDING, BOUND
from apportion_runtime.kube.bind_retries import RETRIED_S
from apportion_runtime.kube.cluster import Cluster, Key, Manifest, key_of
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.gang_binding import GangBinding, Placement, as_bound, take_back
from apportion_runtime.kube.gpu_groups import (
    GpuGroups,
    labelled,
    labelled_groups,
    read_groups,
)
from apportion_runtime.kube.gpu_reservation import (
    ReservationSettings,
    device_of,
    failure_of,
    reservation_name,
    reservation_pod,
    waiting_reason,
)
from apportion_runtime.kube.gpu_reservation_check import ReservationCheck
from apportion_runtime.kube.gpu_sharing import Share, device_name
from apportion_runtime.kube.resources import POD
from apportion_runtime.kube.write_pool import Priority, WritePool, results

_NODE = "Node"
_DISTRUST_S = 300.0
"""The time after a failed reservation in which no pod is evicted for pods that share devices."""
_LOST_S = 10.0
"""The time after which pods are evicted whose reservation pod is gone. KAI deletes them immediately."""


@dataclass(slots=True)
class _Held:
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


@dataclass(frozen=True, slots=True)
class Settled:
    """Gangs that are no longer held.

    Attributes:
        ready: The placements of the gangs whose devices are reserved, by job.
        failed: The gangs whose devices cannot be reserved.
        refused: Writes that were rejected temporarily.
    """

    ready: dict[str, list[Placement]] = field(default_factory=dict)
    failed: list[GangBinding] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class GangReservations:
    """The gangs that wait for shared devices.

    Args:
        settings: The settings of reservation pods.
        clock: A monotonic clock, in seconds.

    Attributes:
        check: Whether the API server accepts reservation pods.
        failure: Why the last reservation failed; None if it succeeded, or if there was none.
    """

    def __init__(self, settings: ReservationSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.failure: str | None = None
        self.check = ReservationCheck(settings, clock)
        self._clock = clock
        self._held: list[_Held] = []
        self._groups = GpuGroups()
        self._new: dict[str, str] = {}
        self._lost_since_s: dict[str, float] = {}
        self._has_worked = False
        self._failed_s = 0.0

    def bound_pods(self, pods: Mapping[Key, Manifest], sharing: Iterable[Manifest], app: str) -> Mapping[Key, Manifest]:
        """Return the pods of held gangs as a cycle reads them: as if they were bound.

        Args:
            pods: The pods of the cluster.
            sharing: Those that may have groups.
            app: The label `app` of reservation pods, as configured for the shard.
        """
        self.settings = replace(self.settings, app=app)
        self._groups = read_groups(sharing, self.settings)
        self._new = {}
        self._has_worked = self._has_worked or any(map(device_of, self._groups.reservations.values()))
        now_s = self._clock()
        self._lost_since_s = {group: self._lost_since_s.get(group, now_s) for group in sorted(self._groups.lost)}
        made: dict[Key, Manifest] = {}
        self._held = [one for gang in self._held for one in _with_retry(gang, pods, now_s)]
        for gang in self._held:
            # It is decided anew, and its devices may be given to other pods in this cycle.
            if not gang.is_sent and not all(
                _is_left(pods.get(key_of(one.pod)), uid) for uid, one in gang.placements.items()
            ):
                gang.placements = {}
                continue
            unconfirmed: dict[str, Placement] = {}
            for uid, placement in gang.placements.items():
                key = key_of(placement.pod)
                one = pods.get(key)
                if one is None or one["metadata"].get("uid", "") != uid:
                    continue
                seen = _confirmed(one, placement) if gang.is_sent else _as_bound(one, placement)
                if seen is not one:
                    made[key] = seen
                    unconfirmed[uid] = placement
            # A bind whose labels the watch has delivered needs no help any more.
            if gang.is_sent:
                gang.placements = unconfirmed
        self._held = [gang for gang in self._held if gang.placements]
        return made

    def reset(self) -> None:
        """Forget the held gangs: another scheduler leads."""
        self._held = []

    def drop(self, placements: Iterable[Placement]) -> None:
        """Forget pods whose gang cannot be bound."""
        for one in placements:
            for gang in self._held:
                gang.placements.pop(one.task.uid, None)

    def holds(self, pod: str) -> bool:
        """Return whether a pod, by uid, is held."""
        return any(pod in gang.placements for gang in self._held)

    def hold(self, job: str, placements: Iterable[Placement]) -> None:
        """Hold the pods of a gang that a cycle has decided to bind; at least one of them shares devices."""
        known = self._groups.in_use.keys() | self._used_groups()
        made: dict[str, Placement] = {}
        for one in placements:
            share = None
            if one.task.received_fraction:
                groups = [g if g in known else self._new.setdefault(g, str(uuid.uuid4())) for g in one.task.gpu_groups]
                share = Share(tuple(groups), one.task.accepted_gpu.portion)
            made[one.task.uid] = replace(one, share=share)
        self._held.append(_Held(job, made, self._clock() + self.settings.timeout_s))

    def settle(self, cluster: Cluster, pool: WritePool, session: Session, blocked: Collection[str] = ()) -> Settled:
        """Create the reservation pods of held gangs, and return the gangs that need not be held any longer.

        Args:
            cluster: The cluster.
            pool: The threads that write.
            session: The cycle; it may have evicted pods of held gangs.
            blocked: Nodes on which a reservation pod could not be deleted; gangs with pods on them are held.

        Raises:
            NotLeader: If this scheduler lost its lease.
        """
        settled = Settled()
        waiting = [gang for gang in self._held if not gang.is_sent and self._refresh(cluster, session, gang)]
        waiting = [gang for gang in waiting if not any(one.node in blocked for one in gang.placements.values())]
        failures = self._reserve(cluster, pool, waiting, settled)
        for gang in waiting:
            placements = list(gang.placements.values())
            why = self._failure(gang, failures)
            if why is not None:
                failed = GangBinding(session.jobs[gang.job], unbound=placements, failures=[why], rejected=why)
                take_back(failed)
                settled.failed.append(failed)
                gang.placements = {}
                continue
            devices = {group: device for group in gang.nodes if (device := self._device(group)) is not None}
            if devices.keys() == gang.nodes.keys():
                self.failure, gang.is_sent = None, True
                settled.ready.setdefault(gang.job, []).extend(_with_devices(placements, devices))
        rejected = {gang.job.uid for gang in settled.failed}
        self._held = [gang for gang in self._held if gang.placements and (gang.is_sent or gang.job not in rejected)]
        return settled

    def take_unused(self, session: Session) -> list[Manifest]:
        """Return the reservation pods of devices that no pod uses or waits for; the caller deletes them.

        Those on other nodes than the cycle's belong to the scheduler of another shard.
        """
        used = self._groups.in_use.keys() | self._used_groups()
        reservations = self._groups.reservations
        unused = [group for group, pod in reservations.items() if group not in used and _is_on_own_node(pod, session)]
        taken = [reservations.pop(group) for group in unused]
        return [pod for pod in taken if "deletionTimestamp" not in pod["metadata"]]

    def take_stale(self, is_own: Callable[[Manifest], bool]) -> list[Manifest]:
        """Return the pending pods of the scheduler that are labelled with groups, but neither bound nor held; once."""
        stale = [
            pod
            for pod in self._groups.unbound
            if "deletionTimestamp" not in pod["metadata"] and not self.holds(pod["metadata"]["uid"]) and is_own(pod)
        ]
        self._groups.unbound.clear()
        return stale

    def take_unreserved(self, is_own: Callable[[Manifest], bool]) -> list[Manifest]:
        """Return the running pods of the scheduler whose device has not been reserved for some time; not again at once.

        The device plugin may give their device to another pod.
        """
        now_s = self._clock()
        due = [group for group, since_s in self._lost_since_s.items() if now_s - since_s >= _LOST_S]
        self._lost_since_s.update(dict.fromkeys(due, now_s))
        found = {pod["metadata"]["uid"]: pod for group in due for pod in self._groups.in_use[group]}
        return [
            pod
            for pod in found.values()
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"] and is_own(pod)
        ]

    def withheld_from(self, session: Session) -> frozenset[str]:
        """Return the gangs, as `namespace/name`, for which no pod may be evicted: the last reservation failed.

        If none ever succeeded, this holds until one does. Otherwise, a single failure must not keep such gangs off a
        full cluster, where no reservation can be tried without an eviction.
        """
        if self.failure is None or (self._has_worked and self._clock() - self._failed_s >= _DISTRUST_S):
            return frozenset()
        return frozenset(
            f"{job.group.namespace}/{job.name}"
            for job in session.jobs.values()
            if any(task.shares_gpu for task in job.tasks.values())
        )

    def remaining_s(self) -> float | None:
        """Return the time until a held gang times out, or a pod has lost its device for too long; None if none has."""
        waits = [gang.until_s for gang in self._held if not gang.is_sent]
        waits += [since_s + _LOST_S for since_s in self._lost_since_s.values()]
        return min(waits) - self._clock() if waits else None

    def _used_groups(self) -> set[str]:
        return {group for gang in self._held for group in gang.nodes}

    def _device(self, group: str) -> str | None:
        """Return the name of the device of a group; None if it is not reserved."""
        reservation = self._groups.reservations.get(group)
        device = None if reservation is None else device_of(reservation)
        return None if device is None else device_name(device, uses_cdi=self.settings.uses_cdi)

    def _refresh(self, cluster: Cluster, session: Session, gang: _Held) -> bool:
        """Read the pods of a gang again; drop the gang if one of them is gone, evicted, or lost its node."""
        job = session.jobs.get(gang.job)
        made: dict[str, Placement] = {}
        for uid, one in gang.placements.items():
            task = None if job is None else job.tasks.get(uid)
            pod = cluster.get(POD, one.pod["metadata"]["namespace"], one.pod["metadata"]["name"])
            if (
                task is None
                or task.status not in (BINDING, BOUND)
                or pod is None
                or pod["metadata"]["uid"] != uid
                or "deletionTimestamp" in pod["metadata"]
                or cluster.get(_NODE, "", one.node) is None
            ):
                gang.placements = {}
                return False
            if not pod["spec"].get("nodeName"):
                made[uid] = replace(one, task=task, pod=pod)
        gang.placements = made
        return bool(made)

    def _reserve(
        self, cluster: Cluster, pool: WritePool, gangs: Sequence[_Held], settled: Settled
    ) -> Mapping[str, str]:
        """Create the missing reservation pods, and return why those of groups cannot be created."""
        missing: dict[str, Placement] = {}
        failures: dict[str, str] = {}
        reservations = self._groups.reservations
        for gang in gangs:
            for group, one in gang.nodes.items():
                if group in reservations:
                    gang.reserved.add(group)
                elif group in gang.reserved:
                    failures[group] = f"{self._name(one.node, group)} was deleted"
                elif group in self._groups.in_use:
                    failures[group] = f"{self._name(one.node, group)} does not exist, although pods use its device"
                else:
                    missing[group] = one

        def create(group: str, one: Placement) -> None:
            tolerations = one.pod["spec"].get("tolerations") or ()
            try:
                reservations[group] = cluster.create(reservation_pod(self.settings, one.node, group, tolerations))
            except Refused as refused:
                if refused.rejection in (Rejection.PERMANENT, Rejection.GONE):
                    failures[group] = f"{self._name(one.node, group)} cannot be created: {refused}"
                elif refused.rejection is not Rejection.CONFLICT:
                    settled.refused.append(f"{self._name(one.node, group)}: {refused}")
            except Unreachable as unreachable:
                settled.refused.append(f"{self._name(one.node, group)}: {unreachable}")

        results([pool.submit(Priority.BIND, partial(create, *each)) for each in missing.items()])
        for gang in gangs:
            gang.reserved |= gang.nodes.keys() & reservations.keys()
        return failures

    def _failure(self, gang: _Held, failures: Mapping[str, str]) -> str | None:
        is_late = self._clock() >= gang.until_s
        for group, one in gang.nodes.items():
            name, reservation = self._name(one.node, group), self._groups.reservations.get(group)
            ended = None if reservation is None or group in failures else failure_of(reservation)
            why = failures.get(group) or (ended and f"{name} {ended}")
            if why is None and is_late and self._device(group) is None:
                waits = "" if reservation is None else waiting_reason(reservation)
                why = f"{name} has not reported its device within {self.settings.timeout_s:g} s{waits}"
            if why is not None:
                why = f"no GPU can be reserved for pod {one.pod['metadata']['name']}: {why}"
                if group not in self._groups.in_use:
                    self.failure, self._failed_s = why, self._clock()
                return why
        return None

    def _name(self, node: str, group: str) -> str:
        return f"reservation pod {self.settings.namespace}/{reservation_name(node, group)} on node {node}"


def _is_on_own_node(reservation: Manifest, session: Session) -> bool:
    return reservation["spec"].get("nodeName") in session.nodes.index


def _with_devices(placements: Iterable[Placement], devices: Mapping[str, str]) -> Iterator[Placement]:
    for one in placements:
        yield one if one.share is None else replace(one, devices=tuple(devices[group] for group in one.share.groups))


def _with_retry(gang: _Held, pods: Mapping[Key, Manifest], now_s: float) -> Iterator[_Held]:
    """Yield a gang, and as another one its pods whose bind was sent and failed: it is sent again."""
    yield gang
    if not gang.is_sent:
        return
    until_s = now_s + RETRIED_S if gang.retried_until_s is None else gang.retried_until_s
    failed = {uid: one for uid, one in gang.placements.items() if _is_unbound(pods.get(key_of(one.pod)), uid)}
    if failed and now_s < until_s:
        yield _Held(gang.job, failed, gang.until_s, set(gang.reserved), retried_until_s=until_s)


def _is_unbound(pod: Manifest | None, uid: str) -> bool:
    return pod is not None and _is_left(pod, uid) and not pod["spec"].get("nodeName")


def _is_left(pod: Manifest | None, uid: str) -> bool:
    """Return whether a pod still exists, and is not being deleted."""
    return pod is not None and pod["metadata"].get("uid") == uid and "deletionTimestamp" not in pod["metadata"]


def _as_bound(pod: Manifest, placement: Placement) -> Manifest:
    if "deletionTimestamp" in pod["metadata"]:
        return pod
    made = as_bound(pod, placement.node)
    return made if placement.share is None else labelled(made, placement.share.groups)


def _confirmed(pod: Manifest, placement: Placement) -> Manifest:
    """Return a pod whose bind was sent with its labels, which the watch may deliver after the bind."""
    share = placement.share
    if share is None or not pod["spec"].get("nodeName") or set(labelled_groups(pod)) == set(share.groups):
        return pod
    return labelled(pod, share.groups)
