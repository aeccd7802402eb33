"""The live scheduler on a described scenario: an API server in this process, with a kubelet and controllers.

As in the simulation, a bound pod runs after two seconds, an evicted one terminates for thirty, and another with a new name
replaces it. Two parts of KAI are stand-ins: the admission webhook that prepares pods which share GPUs, and the process in
reservation pods.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.conformance.live_run import SETTLED_S, Terminating, wait_for_watches
from tests.conformance.seed_scenarios import Change, Cycle, SeedScenario
from tests.e2e.gpu_sharing_webhook import prepared_if_sharing
from tests.unit.runtime.kube.api_server import Object, running

from apportion_api.kai.names import GPU_GROUP_LABEL
from apportion_runtime.kube.api_writer import ApiWriter, SingleScheduler
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.gpu_reservation import ReservationSettings
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.scheduler import Scheduling, run_cycle
from apportion_runtime.kube.write_pool import WritePool
from apportion_runtime.snapshots.quantities import time_text

GRACE_S, START_S = 30.0, 2.0
_QUIET_CYCLES = 3
_RESERVED = "kai-resource-reservation"
_DEVICE = "run.ai/reserve_for_gpu_index"


@dataclass
class _Environment:
    """The kubelets and controllers of a scenario on an API server.

    Attributes:
        server: The API server.
        templates: The pods that users created, by name, as they were created.
        victims: When each evicted pod that terminates was evicted, in the order of eviction.
        bound: When each pod that is not running yet was bound.
        devices: The numbers of the shared devices, by group.
    """

    server: Terminating
    templates: dict[str, Object] = field(default_factory=dict)
    victims: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)

    def pods(self) -> dict[str, tuple[str, Object]]:
        """Return the path and the object of each pod, without those that reserve devices."""
        found = self.server.pods().items()
        return {one["metadata"]["name"]: (path, one) for path, one in found if not _reserves(one)}

    def pass_time(self, now_s: float) -> None:
        """Replace the pods that have terminated, and run those that were bound."""
        for name in [name for name, since in self.victims.items() if now_s >= since + GRACE_S]:
            del self.victims[name]
            self.server.remove(self.pods()[name][0])
            first, number = name.rsplit("-r", 1) if name.rsplit("-r", 1)[-1].isdigit() else (name, "0")
            self._create(self.templates[first], f"{first}-r{int(number) + 1}")
        for name in [name for name, since in self.bound.items() if now_s >= since + START_S]:
            del self.bound[name]
            if name in self.pods():
                path, pod = self.pods()[name]
                status = {"phase": "Running", "startTime": time_text(self.server.now)}
                self.server.put(path, {**pod, "status": status}, "MODIFIED")

    def apply(self, change: Change) -> None:
        """Create, end and remove what the scenario does."""
        for made in change.created:
            if made["kind"] == "Pod":
                self.templates[made["metadata"]["name"]] = made
                self._create(made, made["metadata"]["name"])
            else:
                self.server.add(made)
        for name in change.deleting:
            path, pod = self.pods()[name]
            metadata = {**pod["metadata"], "deletionTimestamp": time_text(self.server.now)}
            self.server.put(path, {**pod, "metadata": metadata}, "MODIFIED")
        for kind, name in change.removed:
            paths = [
                path for path, one in self.server.held.items() if (one["kind"], one["metadata"]["name"]) == (kind, name)
            ]
            for path in paths:
                self.server.remove(path)

    def report_devices(self) -> None:
        """Report the device of each reservation pod that has none."""
        for path, one in self.server.pods().items():
            if _reserves(one) and _DEVICE not in (one["metadata"].get("annotations") or {}):
                name = f"GPU-{one['metadata']['name']}"
                annotations = {**one["metadata"].get("annotations", {}), _DEVICE: name}
                self.server.put(path, {**one, "metadata": {**one["metadata"], "annotations": annotations}}, "MODIFIED")

    def decided(self, now_s: float, before: Mapping[str, tuple[str, Object]]) -> Cycle:
        """Return what changed in a cycle."""
        bound: dict[str, tuple[str, ...]] = {}
        evicted: set[str] = set()
        for name, (_, pod) in sorted(self.pods().items()):
            was = before[name][1]
            if "nodeName" in pod["spec"] and "nodeName" not in was["spec"]:
                group = pod["metadata"]["labels"].get(GPU_GROUP_LABEL)
                device = () if group is None else (self.devices.setdefault(group, f"gpu-{len(self.devices) + 1}"),)
                bound[name] = (pod["spec"]["nodeName"], *device)
                self.bound[name] = now_s
            if "deletionTimestamp" in pod["metadata"] and "deletionTimestamp" not in was["metadata"]:
                evicted.add(name)
                self.victims[name] = now_s
        return Cycle(now_s, bound, frozenset(evicted))

    def _create(self, template: Object, name: str) -> None:
        pod = prepared_if_sharing(copy.deepcopy(template))
        metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
        metadata |= {"name": name, "creationTimestamp": time_text(self.server.now)}
        self.server.add({**pod, "metadata": metadata})


def live_cycles(scenario: SeedScenario) -> Iterator[Cycle]:
    """Yield the cycles of the live scheduler in which it decides.

    Cycles run once a second after each change, until three in a row decide nothing.
    """
    server = Terminating()
    server.add(*scenario.objects)
    environment = _Environment(server)
    failures: list[str] = []
    with running(server) as connection:
        cache = ObjectCache(connection, on_fault=failures.append)
        cache.start(SETTLED_S)
        reservations = GangReservations(ReservationSettings("reservation"), lambda: server.now)
        cluster = LiveCluster(cache, ApiWriter(connection, SingleScheduler()))
        kept = Scheduling(cluster, WritePool(0, failures.append), reservations=reservations)
        try:
            changes = list(scenario.changes)
            now_s, quiet = 0.0, 0
            while True:
                server.now = scenario.start + now_s
                environment.pass_time(now_s)
                while changes and changes[0].at_s <= now_s:
                    environment.apply(changes.pop(0))
                    quiet = 0
                wait_for_watches(server, cache)
                before = environment.pods()
                pool = WritePool(4, failures.append)
                kept = replace(kept, pool=pool)
                try:
                    result = run_cycle(kept, server.now)
                finally:
                    pool.stop()
                assert (result.refused, result.faults, failures) == ([], (), [])
                decided = environment.decided(now_s, before)
                environment.report_devices()
                if decided.bound or decided.evicted:
                    yield decided
                quiet = 0 if decided.bound or decided.evicted else quiet + 1
                later = [since + GRACE_S for since in environment.victims.values()]
                later += [change.at_s for change in changes[:1]]
                if quiet < _QUIET_CYCLES:
                    later.append(now_s + 1)
                if not later:
                    return
                now_s = max(now_s + 1, min(later))
        finally:
            cache.stop()


def _reserves(pod: Object) -> bool:
    return bool(pod["metadata"]["namespace"] == _RESERVED)
