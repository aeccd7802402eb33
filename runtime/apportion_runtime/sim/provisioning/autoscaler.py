"""The autoscaler: handles ProvisioningRequests, and adds and removes their nodes.

A request is Pending until it is checked, then Accepted or Failed; accepted requests get all their nodes at once or wait.
Nodes are labelled with their request and tainted, so that only its pods run there, and are deleted after its maximum runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_api.counted_nouns import counted
from apportion_api.kubernetes.names import ZONE_LABEL
from apportion_runtime.admission.objects import name_of, namespace_of, nested, uid_of
from apportion_runtime.sim.api.cluster_state import ClusterState, PodState
from apportion_runtime.sim.api.events import EngineEvent
from apportion_runtime.sim.api.object_store import Change
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import Handlers
from apportion_runtime.sim.history import ENDED_BY_NODE
from apportion_runtime.sim.kubelet.nodes import add_node, node_manifest, node_name, remove_node
from apportion_runtime.sim.provisioning.queued_pools import QueuedPool, changes
from apportion_runtime.sim.provisioning.request_checks import (
    GKE_CLASS,
    GKE_POOL_LABEL,
    QUEUED_TAINT,
    QUOTA_EXCEEDED,
    REQUEST_LABEL,
    RequestDemand,
    UnmetRequest,
    check_request,
    request_name,
)
from apportion_runtime.sim.provisioning.request_consumers import REQUEST
from apportion_runtime.sim.provisioning.zone_capacity import HeldMachines, find_machines
from apportion_runtime.sim.scenario.format import Manifest, Pool

_ZONE = ZONE_LABEL


@dataclass(frozen=True, slots=True)
class RequestDue(EngineEvent):
    """The autoscaler checks a new request."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class CapacityChanges(EngineEvent):
    """The provider's capacity or the project's quota changes."""


@dataclass(frozen=True, slots=True)
class NodesReady(EngineEvent):
    """All nodes of a request are ready."""

    uid: str


@dataclass(frozen=True, slots=True)
class BookingEnds(EngineEvent):
    """The booking of a request expires."""

    uid: str


@dataclass(frozen=True, slots=True)
class RunEnds(EngineEvent):
    """The nodes of a request reach their maximum runtime."""

    uid: str


@dataclass(frozen=True, slots=True)
class PatienceEnds(EngineEvent):
    """A waiting request expires."""

    uid: str


@dataclass(frozen=True, slots=True)
class IdleEnds(EngineEvent):
    """Idle nodes of a request may be due for removal."""

    uid: str


@dataclass(slots=True)
class _ActiveRequest:
    """An active request: its demand, its machines, and its nodes with the start of their idle time."""

    namespace: str
    name: str
    asked: RequestDemand
    held: HeldMachines | None = None
    nodes: dict[str, float | None] = field(default_factory=dict)
    is_ready: bool = False


class Autoscaler:
    """Handles ProvisioningRequests.

    Args:
        cluster_state: The simulated cluster.
        workloads: Notified of pods whose node is removed.
        pools: The node pools of the cluster.
        on_answer: Called for each request whose state changed.
        owner: Returns the workload of a request; -1 for a request created by a user.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        workloads: Workloads,
        pools: Mapping[str, Pool],
        *,
        on_answer: Callable[[Manifest], None] = lambda request: None,
        owner: Callable[[Manifest], int] = lambda request: -1,
    ) -> None:
        self._cluster_state = cluster_state
        self._workloads = workloads
        self._pools = {name: pool for name, pool in pools.items() if pool.queued is not None}
        self._on_answer = on_answer
        self._owner = owner
        self._active: dict[str, _ActiveRequest] = {}
        self._n_made = dict.fromkeys(self._pools, 0)
        cluster_state.store.watch(REQUEST, self._changed)
        for made in cluster_state.store.list(REQUEST):
            self._plan_look(made)
        for at_s in changes([pool.queued for pool in self._pools.values() if pool.queued is not None]):
            cluster_state.events.plan(cluster_state.clock.start + at_s, CapacityChanges())

    def handlers(self) -> Handlers:
        """Return the handlers of its events."""
        return {
            RequestDue: lambda event: self._look(event.namespace, event.name),
            CapacityChanges: lambda _: self._serve(),
            NodesReady: lambda event: self._provide(event.uid),
            BookingEnds: lambda event: self._expire(event.uid),
            RunEnds: lambda event: self._end_run(event.uid),
            PatienceEnds: lambda event: self._give_up(event.uid),
            IdleEnds: lambda event: self._take_idle(event.uid),
        }

    def _changed(self, change: Change) -> None:
        if change.what == "added":
            self._plan_look(change.made)
        elif change.what == "deleted":
            self._cancel(uid_of(change.made))

    def _plan_look(self, made: Manifest) -> None:
        if nested(made, "spec", "provisioningClassName") != GKE_CLASS:
            class_name = nested(made, "spec", "provisioningClassName")
            self._note(
                "request-ignored", made, f"provisioning class {class_name} is not simulated; the request stays pending"
            )
            return
        wait = min(
            (pool.queued.accept_s for pool in self._pools.values() if pool.queued), default=QueuedPool().accept_s
        )
        self._cluster_state.events.plan(self._cluster_state.now + wait, RequestDue(namespace_of(made), name_of(made)))

    def _look(self, namespace: str, name: str) -> None:
        made = self._cluster_state.store.get(REQUEST, namespace, name)
        if made is None or uid_of(made) in self._active or nested(made, "status", "conditions"):
            return
        templates = {
            name_of(t): t for t in self._cluster_state.store.list("PodTemplate") if namespace_of(t) == namespace
        }
        asked = check_request(made, templates, list(self._pools.values()))
        if isinstance(asked, RequestDemand) and (full := self._too_many(asked)) is not None:
            asked = full
        if isinstance(asked, UnmetRequest):
            self._note("request-failed", made, f"{asked.reason}: {asked.message}")
            self._on_answer(self._with(made, "Failed", "True", asked.reason, asked.message))
            return
        uid = uid_of(made)
        self._active[uid] = _ActiveRequest(namespace, name, asked)
        self._note("request-accepted", made, f"{_nodes(asked.nodes)} of {asked.pool} for {asked.run_s:.0f}s")
        made = self._with(made, "Accepted", "True", "Accepted", "ProvisioningRequest is accepted by ClusterAutoscaler")
        queued = self._queued(asked.pool)
        self._cluster_state.events.plan(self._cluster_state.now + queued.patience_s, PatienceEnds(uid))
        self._on_answer(made)
        self._serve()

    def _too_many(self, asked: RequestDemand) -> UnmetRequest | None:
        queued = self._queued(asked.pool)
        n_open = sum(
            each.held is None and self._queued(each.asked.pool).region == queued.region
            for each in self._active.values()
        )
        if n_open < queued.open_requests:
            return None
        return UnmetRequest(
            QUOTA_EXCEEDED,
            f"Quota 'ACTIVE_RESIZE_REQUESTS' exceeded. Limit: {queued.open_requests:.1f} in region {queued.region}.",
        )

    def _serve(self) -> None:
        """Assign machines to waiting requests, the oldest first; a request that cannot be met does not block others."""
        for uid, active in list(self._active.items()):
            made = self._request(active, uid)
            if active.held is not None or made is None:
                continue
            held = [each.held for each in self._active.values() if each.held is not None]
            found = find_machines(active.asked, self._pools, held, self._cluster_state.elapsed_s)
            if isinstance(found, HeldMachines):
                active.held = found
                self._cluster_state.events.plan(
                    self._cluster_state.now + self._queued(found.pool).boot_s, NodesReady(uid)
                )
                continue
            before = nested(made, "status", "conditions") or ()
            if not any(each["reason"] == found.reason for each in before):
                self._note("request-waits", made, f"{found.reason}: {found.message}")
                self._on_answer(self._with(made, "Provisioned", "False", found.reason, found.message))

    def _provide(self, uid: str) -> None:
        active = self._active.get(uid)
        made = None if active is None else self._request(active, uid)
        if active is None or active.held is None or made is None:
            return
        cluster_state, held = self._cluster_state, active.held
        queued, label = self._queued(held.pool), request_name(made)
        active.is_ready = True
        for _ in range(held.nodes):
            name = node_name(self._pools[held.pool], self._n_made[held.pool])
            self._n_made[held.pool] += 1
            active.nodes[name] = cluster_state.now
            add_node(cluster_state, self._node(name, held, label))
        self._note("request-provisioned", made, f"{_nodes(held.nodes)} of {held.pool} in {held.zone}")
        made = cluster_state.store.patch_status(
            REQUEST, active.namespace, active.name, {"provisioningClassDetails": {"ResizeRequestName": label}}
        )
        cluster_state.events.plan(cluster_state.now + queued.booking_s, BookingEnds(uid))
        cluster_state.events.plan(cluster_state.now + active.asked.run_s, RunEnds(uid))
        self._on_answer(self._with(made, "Provisioned", "True", "CapacityIsProvisioned", "Capacity is provisioned"))

    def _node(self, name: str, held: HeldMachines, request: str) -> dict[str, Any]:
        made = node_manifest(self._pools[held.pool], name)
        labels = {**made["metadata"]["labels"], GKE_POOL_LABEL: held.pool, REQUEST_LABEL: request, _ZONE: held.zone}
        taints = [*made["spec"].get("taints", ()), dict(QUEUED_TAINT)]
        return {
            **made,
            "metadata": {**made["metadata"], "labels": labels},
            "spec": {**made["spec"], "taints": taints},
        }

    def _expire(self, uid: str) -> None:
        """The booking expires; nodes without pods of the request are not needed."""
        active = self._active.get(uid)
        made = None if active is None else self._request(active, uid)
        if active is None or made is None:
            return
        is_used = any(self._cluster_state.pods_on.get(name) for name in active.nodes)
        if not is_used:
            self._note("booking-expired", made, f"no pod was scheduled on its {_nodes(len(active.nodes))}")
        made = self._with(
            made, "BookingExpired", "True", "CapacityReservationTimeExpired", "Capacity reservation time is expired"
        )
        if is_used:
            self._take_idle(uid)
        else:
            self._release(uid)
        self._on_answer(made)

    def _end_run(self, uid: str) -> None:
        active = self._active.get(uid)
        if active is None:
            return
        made = self._request(active, uid)
        if made is not None and any(self._cluster_state.pods_on.get(name) for name in active.nodes):
            message = f"its {_nodes(len(active.nodes))} reached the maximum runtime of {active.asked.run_s:.0f} seconds"
            self._note("capacity-revoked", made, message)
            # The owner of the request is notified before its pods are lost, and does not recreate them.
            self._on_answer(self._with(made, "CapacityRevoked", "True", "MaxRunDurationExceeded", message))
        if uid in self._active:
            self._release(uid)

    def _give_up(self, uid: str) -> None:
        active = self._active.get(uid)
        made = None if active is None else self._request(active, uid)
        if active is None or active.held is not None or made is None:
            return
        del self._active[uid]
        self._note("request-failed", made, "Expired: ProvisioningRequest is expired")
        self._on_answer(self._with(made, "Failed", "True", "Expired", "ProvisioningRequest is expired"))

    def _cancel(self, uid: str) -> None:
        """A request was deleted: nodes being created are cancelled, existing ones are removed when idle."""
        active = self._active.get(uid)
        if active is not None and not active.is_ready:
            del self._active[uid]
            self._serve()
        elif active is not None:
            self._take_idle(uid)

    def left(self, pod: PodState) -> None:
        """Handle the deletion of a pod: its node may be idle."""
        node = pod.record.node
        for uid, active in self._active.items():
            if node in active.nodes and not self._cluster_state.pods_on.get(node or ""):
                active.nodes[node or ""] = self._cluster_state.now
                self._cluster_state.events.plan(
                    self._cluster_state.now + self._pools[active.asked.pool].idle_s, IdleEnds(uid)
                )

    def _take_idle(self, uid: str) -> None:
        """Remove nodes of a request that have been idle long enough, after their booking."""
        active = self._active.get(uid)
        if active is None:
            return
        cluster_state, idle_s = self._cluster_state, self._pools[active.asked.pool].idle_s
        later: list[float] = []
        for name in list(active.nodes):
            since = active.nodes[name]
            if cluster_state.pods_on.get(name) or since is None:
                continue
            at = max(since + idle_s, cluster_state.now)
            if since + idle_s <= cluster_state.now:
                self._remove(active, name)
            else:
                later.append(at)
        if later:
            cluster_state.events.plan(min(later), IdleEnds(uid))
        if not active.nodes:
            self._release(uid)

    def _release(self, uid: str) -> None:
        active = self._active.pop(uid)
        for name in list(active.nodes):
            self._remove(active, name)
        self._serve()

    def _remove(self, active: _ActiveRequest, name: str) -> None:
        for uid in list(self._cluster_state.pods_on.get(name, ())):
            self._workloads.remove_pod(uid, ENDED_BY_NODE)
        del active.nodes[name]
        if self._cluster_state.store.get("Node", "", name) is not None:
            remove_node(self._cluster_state, name)

    def _queued(self, pool: str) -> QueuedPool:
        queued = self._pools[pool].queued
        assert queued is not None
        return queued

    def _request(self, active: _ActiveRequest, uid: str) -> Manifest | None:
        made = self._cluster_state.store.get(REQUEST, active.namespace, active.name)
        return made if made is not None and uid_of(made) == uid else None

    def _with(self, made: Manifest, kind: str, status: str, reason: str, message: str) -> Manifest:
        """Set a condition, and return the updated request."""
        others = [each for each in nested(made, "status", "conditions") or () if each["type"] != kind]
        condition = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": self._cluster_state.clock.text,
        }
        return self._cluster_state.store.patch_status(
            REQUEST, namespace_of(made), name_of(made), {"conditions": [*others, condition]}
        )

    def _note(self, what: str, made: Manifest, why: str) -> None:
        self._cluster_state.note(what, workload=self._owner(made), why=f"{name_of(made)}: {why}")


def _nodes(count: int) -> str:
    return counted(count, "node")
