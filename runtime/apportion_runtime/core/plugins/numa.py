"""NUMA zones: whether a kubelet could align a pod's resources to them, and which zones it would use.

Source: pkg/scheduler/plugins/numa (numa.go, evaluator.go, requests.go, reconstruct.go, seed_placements.go) and
pkg/scheduler/api/node_info/numa_topology.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from apportion_runtime.core.nodes import Indices
from apportion_runtime.core.plugins import scores
from apportion_runtime.core.resources import CPU, ResourceIndex, Vector
from apportion_runtime.core.snapshot import Container, NumaTopology, Pod
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES
from apportion_runtime.core.task import NO_NODE, Task

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session

Placement = tuple[tuple[int, tuple[float, ...]], ...]
"""What a pod holds in each zone: the zone's index, and amounts as a vector."""

_GUARANTEED = "Guaranteed"
_FILTERS = frozenset(("single-numa-node", "restricted"))
_SCORES = _FILTERS | {"best-effort"}


class _Zones(NamedTuple):
    """A node's zones as arrays: rows are zones, columns resources."""

    policy: str
    scope: str
    ids: tuple[str, ...]
    aware: tuple[int, ...]
    available: Vector
    allocatable: Vector


class _Requests(NamedTuple):
    """What the kubelet aligns of a pod: the whole pod, or each container; init containers run one by one."""

    pod: Vector
    concurrent: tuple[Vector, ...]
    serial: tuple[Vector, ...]


class NumaZones:
    """The zones of a session's nodes, and their available resources."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._zones: dict[int, _Zones] = {}
        self._requests: dict[str, _Requests] = {}
        if "numa" not in session.plugins:
            return
        index = session.resources
        for i, node in enumerate(session.nodes.nodes):
            if node.numa is not None and node.numa.zones:
                self._zones[i] = _zones(node.numa, index)
        self._most = max((len(zones.ids) for zones in self._zones.values()), default=0)
        self._devices = {
            r for z in self._zones.values() if z.policy in _SCORES for r in z.aware if not _gated(index, r)
        }
        self._seed()

    def _seed(self) -> None:
        session = self._session
        for zones in self._zones.values():
            if zones.policy in _SCORES:
                zones.available[:] = zones.allocatable
        for pod in session.snapshot.pods:
            i = NO_NODE if pod.node is None else session.nodes.index.get(pod.node, NO_NODE)
            recorded = self._recorded(pod, i)
            if recorded and pod.status & ACTIVE_ALLOCATED_STATUSES:
                _charge(self._zones[i], recorded, -1)
            job = session.jobs.get(pod.group or "")
            if job is not None and recorded and self._aligns(job.tasks[pod.uid], i):
                task = job.tasks[pod.uid]
                task.numa = recorded
                if task.uid in session.nodes.entries[i]:
                    session.nodes.update(task, i)

    def _recorded(self, pod: Pod, i: int) -> Placement:
        zones = self._zones.get(i)
        if zones is None or zones.policy not in _SCORES:
            return ()
        if any(zone not in zones.ids for zone, _ in pod.numa_placement):
            return ()
        resources = self._session.resources
        placed = ((zones.ids.index(z), tuple(resources.vector(amount).tolist())) for z, amount in pod.numa_placement)
        return tuple(sorted(placed, key=lambda part: part[0]))

    def _aligns(self, task: Task, i: int, policies: frozenset[str] = _SCORES) -> bool:
        zones = self._zones.get(i)
        if zones is None or zones.policy not in policies:
            return False
        return task.pod.qos_class == _GUARANTEED or any(
            task.request[r] > 0 for r in zones.aware if not _gated(self._session.resources, r)
        )

    def available(self, i: int, zone: int, resource: str) -> float:
        """Return the available amount of a resource in a zone of a node."""
        return float(self._zones[i].available[zone, self._session.resources.get(resource)])

    def add_scores(self, score: Vector, task: Task, nodes: Indices) -> Vector:
        """Prefer nodes on which the pod's resources span few zones."""
        if not self._zones or not self._most or not self._wants(task):
            return score
        spans = np.array([self._span(task, int(i)) for i in nodes])
        preferred: Vector = np.divide(scores.NUMA, spans, out=np.zeros(len(spans)), where=spans > 0)
        return score + preferred

    def _wants(self, task: Task) -> bool:
        return task.pod.qos_class == _GUARANTEED or any(task.request[r] > 0 for r in self._devices)

    def _span(self, task: Task, i: int) -> float:
        zones = self._zones.get(i)
        if zones is None:
            return self._most
        if zones.policy == "none" or not self._aligns(task, i):
            return len(zones.ids)
        solved = self._solve(task, i)
        return 0 if solved is None else max(len(solved), 1)

    def allows(self, task: Task, i: int) -> bool:
        """Return whether the kubelet of a node would admit the pod."""
        return not self._aligns(task, i, _FILTERS) or self._solve(task, i) is not None

    def placement(self, task: Task, i: int) -> Placement:
        """Return the resources that the pod would use in each zone of a node."""
        if not self._aligns(task, i):
            return ()
        drawn = self._solve(task, i)
        if drawn is None:
            return ()
        kept = np.zeros(len(self._session.resources), dtype=bool)
        kept[list(self._zones[i].aware)] = True
        # Amounts are kept as Kubernetes quantities, which are whole.
        return tuple((zone, tuple(np.trunc(np.where(kept, drawn[zone], 0.0)).tolist())) for zone in sorted(drawn))

    def charge(self, task: Task, sign: int) -> None:
        """Charge the pod to its node's zones (1), or release it (-1)."""
        if task.numa and task.node in self._zones:
            _charge(self._zones[task.node], task.numa, -sign)

    def _solve(self, task: Task, i: int) -> dict[int, Vector] | None:
        zones = self._zones[i]
        index = self._session.resources
        aware = zones.aware
        if task.pod.qos_class != _GUARANTEED:
            aware = tuple(r for r in aware if not _gated(index, r))
        requests = self._requests.get(task.uid)
        if requests is None:
            requests = self._requests[task.uid] = _requests(task.pod, index)
        by_pod = zones.scope == "pod"
        left = zones.available.copy()
        drawn: dict[int, Vector] = {}
        for request in (requests.pod,) if by_pod else requests.concurrent:
            mask = _mask(zones, aware, request, left)
            if mask is None:
                return None
            _draw(left, aware, mask, request, drawn)
        for request in () if by_pod else requests.serial:
            if _mask(zones, aware, request, zones.available) is None:
                return None
        return drawn


def _gated(index: ResourceIndex, r: int) -> bool:
    """Return whether the kubelet aligns a resource for guaranteed pods only."""
    return index.names[r] in ("cpu", "memory") or index.names[r].startswith("hugepages-")


def _zones(topology: NumaTopology, index: ResourceIndex) -> _Zones:
    names = {name for zone in topology.zones for name in (*zone.available, *zone.allocatable)}
    return _Zones(
        topology.policy,
        topology.scope,
        tuple(zone.id for zone in topology.zones),
        tuple(sorted({index.get(name) for name in names} - {-1})),
        np.array([index.vector(zone.available) for zone in topology.zones]),
        np.array([index.vector(zone.allocatable) for zone in topology.zones]),
    )


def _charge(zones: _Zones, placement: Placement, sign: int) -> None:
    for zone, amounts in placement:
        zones.available[zone] += sign * np.array(amounts)


def _requests(pod: Pod, index: ResourceIndex) -> _Requests:
    containers = pod.containers
    if not containers:
        whole = {"gpu": float(pod.gpu.count)} if pod.gpu.portion == 1 else {}
        containers = (Container({**pod.request, **whole, **{name: float(n) for name, n in pod.gpu.mig}}),)
    guaranteed = pod.qos_class == _GUARANTEED
    vectors = [_aligned(container.request, index, guaranteed=guaranteed) for container in containers]
    # The maximum over init containers and the sum of all others, as in the pod's own request.
    running, peak = np.zeros(len(index)), np.zeros(len(index))
    for container, vector in zip(containers, vectors, strict=True):
        if container.kind == "init":
            peak = np.maximum(peak, running + vector)
        elif container.kind == "sidecar":
            running = running + vector
    running = running + sum((v for c, v in zip(containers, vectors, strict=True) if c.kind == "app"), 0 * peak)
    return _Requests(
        np.maximum(running, peak),
        tuple(v for c, v in zip(containers, vectors, strict=True) if c.kind != "init"),
        tuple(v for c, v in zip(containers, vectors, strict=True) if c.kind == "init"),
    )


def _aligned(request: Mapping[str, float], index: ResourceIndex, *, guaranteed: bool) -> Vector:
    vector = index.vector(request)
    # Cores are assigned to a container exclusively only as whole cores, and only in a guaranteed pod.
    if not guaranteed or vector[CPU] % 1000:
        vector[CPU] = 0.0
    return vector


def _mask(zones: _Zones, aware: Iterable[int], request: Vector, left: Vector) -> tuple[int, ...] | None:
    """Return the zones from which a request is drawn, in order; None if the kubelet would refuse it."""
    needed = [r for r in aware if request[r] > 0]
    if zones.policy == "best-effort":
        return _widest_first(needed, request, left)
    width = 1 if zones.policy == "single-numa-node" else _width(zones, needed, request)
    if width is None:
        return None
    if width == 0:
        return ()
    for mask in combinations(range(len(zones.ids)), width):
        if all(sum(float(left[zone, r]) for zone in mask) >= request[r] for r in needed):
            return mask
    return None


def _width(zones: _Zones, needed: list[int], request: Vector) -> int | None:
    """Return how many zones a request spans at least, which must be the same for each of its resources."""
    widths = set()
    for r in needed:
        sums = np.cumsum(np.sort(zones.allocatable[:, r])[::-1])
        enough = np.flatnonzero(sums >= request[r])
        if not len(enough):
            return None
        widths.add(int(enough[0]) + 1)
    if len(widths) > 1:
        return None
    return widths.pop() if widths else 0


def _widest_first(needed: list[int], request: Vector, left: Vector) -> tuple[int, ...] | None:
    """Return the zones that cover a request, those that cover most of it first, as many as needed."""
    remaining = {r: float(request[r]) for r in needed}
    mask: list[int] = []
    while any(rest > 0 for rest in remaining.values()):
        best, most = -1, 0.0
        for zone in range(len(left)):
            if zone in mask:
                continue
            cover = sum(min(rest, float(left[zone, r])) for r, rest in remaining.items() if rest > 0)
            if cover > most:
                best, most = zone, cover
        if best < 0:
            return None
        mask.append(best)
        for r in remaining:
            remaining[r] -= float(left[best, r])
    return tuple(mask)


def _draw(left: Vector, aware: Iterable[int], mask: tuple[int, ...], request: Vector, drawn: dict[int, Vector]) -> None:
    for r in aware:
        rest = float(request[r])
        for zone in mask:
            take = min(float(left[zone, r]), rest)
            if take <= 0:
                continue
            left[zone, r] -= take
            drawn.setdefault(zone, np.zeros(len(request)))[r] += take
            rest -= take
