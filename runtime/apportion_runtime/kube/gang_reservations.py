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
from apportion_runtime.kube.cluster import Cluster, Key, Manifest, key_of
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.gang_binding import GangBinding, Placement, take_back
from apportion_runtime.kube.gpu_groups import GpuGroups, read_groups
from apportion_runtime.kube.gpu_reservation import (
    DELETED,
    MISSING,
    REJECTED,
    TIMEOUT,
    UNAVAILABLE,
    ReservationFailure,
    ReservationSettings,
    device_of,
    failure_of,
    reservation_name,
    reservation_pod,
    waiting_reason,
)
from apportion_runtime.kube.gpu_reservation_check import ReservationCheck
from apportion_runtime.kube.gpu_sharing import Share, device_name
from apportion_runtime.kube.held_gang import HeldGang, as_held, confirmed, is_left, with_retry
from apportion_runtime.kube.resources import POD
from apportion_runtime.kube.write_pool import Priority, WritePool, results

_NODE = "Node"
_DISTRUST_S = 300.0
"""The time after a failed reservation in which no pod is evicted for pods that share devices."""
_LOST_S = 10.0
"""The time after which pods are evicted whose reservation pod is gone. KAI deletes them immediately."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Gangs that are no longer held.

    Attributes:
        ready: The placements of the gangs whose devices are reserved, by job.
        failed: The gangs whose devices cannot be reserved.
        postponed: The reservation pods whose creation is repeated.
    """

    ready: dict[str, list[Placement]] = field(default_factory=dict)
    failed: list[GangBinding] = field(default_factory=list)
    postponed: list[ReservationFailure] = field(default_factory=list)


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
        self._held: list[HeldGang] = []
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
        self._held = [one for gang in self._held for one in with_retry(gang, pods, now_s)]
        for gang in self._held:
            # It is decided anew, and its devices may be given to other pods in this cycle.
            if not gang.is_sent and not all(
                is_left(pods.get(key_of(one.pod)), uid) for uid, one in gang.placements.items()
            ):
                gang.placements = {}
                continue
            unconfirmed: dict[str, Placement] = {}
            for uid, placement in gang.placements.items():
                key = key_of(placement.pod)
                one = pods.get(key)
                if one is None or one["metadata"].get("uid", "") != uid:
                    continue
                seen = confirmed(one, placement) if gang.is_sent else as_held(one, placement)
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
        self._held.append(HeldGang(job, made, self._clock() + self.settings.timeout_s))

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
            failure = self._failure(gang, failures)
            if failure is not None:
                failed = GangBinding(
                    session.jobs[gang.job], unbound=placements, rejected=failure.why, unreserved=failure
                )
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

    def _refresh(self, cluster: Cluster, session: Session, gang: HeldGang) -> bool:
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
        self, cluster: Cluster, pool: WritePool, gangs: Sequence[HeldGang], settled: Settled
    ) -> Mapping[str, ReservationFailure]:
        """Create the missing reservation pods, and return why those of groups cannot be created."""
        missing: dict[str, Placement] = {}
        failures: dict[str, ReservationFailure] = {}
        reservations = self._groups.reservations
        for gang in gangs:
            for group, one in gang.nodes.items():
                name = self._name(one.node, group)
                if group in reservations:
                    gang.reserved.add(group)
                elif group in gang.reserved:
                    failures[group] = ReservationFailure(DELETED, f"{name} was deleted")
                elif group in self._groups.in_use:
                    why = f"{name} does not exist, although pods use its device"
                    failures[group] = ReservationFailure(MISSING, why)
                else:
                    missing[group] = one

        def create(group: str, one: Placement) -> None:
            name, tolerations = self._name(one.node, group), one.pod["spec"].get("tolerations") or ()
            try:
                reservations[group] = cluster.create(reservation_pod(self.settings, one.node, group, tolerations))
            except Refused as refused:
                if refused.rejection in (Rejection.PERMANENT, Rejection.GONE):
                    failures[group] = ReservationFailure(REJECTED, f"{name} cannot be created: {refused}")
                elif refused.rejection is not Rejection.CONFLICT:
                    settled.postponed.append(
                        ReservationFailure(UNAVAILABLE, f"{name} has not been created yet: {refused}")
                    )
            except Unreachable as unreachable:
                settled.postponed.append(
                    ReservationFailure(UNAVAILABLE, f"{name} has not been created yet: {unreachable}")
                )

        results([pool.submit(Priority.BIND, partial(create, *each)) for each in missing.items()])
        for gang in gangs:
            gang.reserved |= gang.nodes.keys() & reservations.keys()
        return failures

    def _failure(self, gang: HeldGang, failures: Mapping[str, ReservationFailure]) -> ReservationFailure | None:
        is_late = self._clock() >= gang.until_s
        for group, one in gang.nodes.items():
            name, reservation = self._name(one.node, group), self._groups.reservations.get(group)
            failure = failures.get(group) or (None if reservation is None else failure_of(reservation, name))
            if failure is None and is_late and self._device(group) is None:
                waits = "" if reservation is None else waiting_reason(reservation)
                late = f"{name} has not reported its device within {self.settings.timeout_s:g} s{waits}"
                failure = ReservationFailure(TIMEOUT, late)
            if failure is not None:
                why = f"no GPU can be reserved for pod {one.pod['metadata']['name']}: {failure.why}"
                if group not in self._groups.in_use:
                    self.failure, self._failed_s = why, self._clock()
                return ReservationFailure(failure.cause, why)
        return None

    def _name(self, node: str, group: str) -> str:
        return f"reservation pod {self.settings.namespace}/{reservation_name(node, group)} on node {node}"


def _is_on_own_node(reservation: Manifest, session: Session) -> bool:
    return reservation["spec"].get("nodeName") in session.nodes.index


def _with_devices(placements: Iterable[Placement], devices: Mapping[str, str]) -> Iterator[Placement]:
    for one in placements:
        yield one if one.share is None else replace(one, devices=tuple(devices[group] for group in one.share.groups))
