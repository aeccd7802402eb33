"""A simulation from end to end: the compiled objects, a scenario, and the event loop.

Events are handled in order; after any change the scheduler runs its next cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apportion_api.kubernetes.names import PRIORITY_CLASS_API
from apportion_runtime.admission.objects import name_of, namespace_of
from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.kai.model import MODEL as KAI
from apportion_runtime.kube_queue.queueing import Queueing
from apportion_runtime.sim.api.clock import Clock
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.events import (
    AutoscaleDue,
    CronDue,
    CycleDue,
    Event,
    EventQueue,
    FillDue,
    JointEvent,
    NodeDrains,
    NodeFails,
    NodeJoins,
    ObjectDeleted,
    ObjectsMade,
    PodGone,
    PodsReady,
    PodsRun,
    PoolCheck,
    Work,
    WorkDone,
    WorkloadArrives,
    WorkloadLeaves,
    WorkloadScaled,
)
from apportion_runtime.sim.api.object_store import Conflict, ObjectStore
from apportion_runtime.sim.api.scheduler_records import Records
from apportion_runtime.sim.controllers.autoscaler import Autoscalers
from apportion_runtime.sim.controllers.cluster_retention import ClusterExpires
from apportion_runtime.sim.controllers.job_events import JobChanged
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.history import ENDED_BY_DELETION, ENDED_BY_EVICTION, ENDED_BY_NODE, History
from apportion_runtime.sim.invariants import broken
from apportion_runtime.sim.kubelet.nodes import add_node, cordon, note_capacity, remove_node, set_ready
from apportion_runtime.sim.provisioning.node_pools import NodePools
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.format import Incident, Manifest, Scenario

_ANSWERED = ("PodTemplate", "ProvisioningRequest")
"""Kinds other than workloads whose deletion is handled by watching the object store."""


_CHECKED_EVERY = 5_000
"""The number of events between two checks of the invariants; tests check after each."""


class InvariantError(RuntimeError):
    """An invariant is violated: a bug of the simulation itself."""


class Cluster:
    """A simulated cluster.

    Args:
        objects: The objects compiled for the engine, and any others that it reads.
        scenario: Nodes, workloads and events.
        model: The engine of the objects.
        may_evict: Called before each eviction, like a disruption budget.
        keeps_facts: Whether every fact is kept, or only those that reports use.
        admit: Raises `ValueError` if the API server or a webhook rejects the pods of a workload.
        n_made: Number of the last uid that was generated before, for a snapshot of a simulation.

    Attributes:
        engine: The simulated engine.
        cluster_state: The shared state of the simulation.
        history: The recorded facts.
    """

    def __init__(
        self,
        objects: Iterable[Manifest],
        scenario: Scenario,
        model: Model = KAI,
        *,
        may_evict: Callable[[Manifest], bool] = lambda pod: True,
        keeps_facts: bool = True,
        admit: Callable[[Manifest], None] = lambda made: None,
        n_made: int = 0,
    ) -> None:
        self.scenario = scenario
        clock = Clock(scenario.start, scenario.start)
        store = ObjectStore(clock, may_evict, n_made=n_made)
        fixed = [
            *_made(store, (*objects, *scenario.objects)),
            *_made(store, _default_classes(store, model.priority_classes)),
        ]
        records = Records([made for made in fixed if model.reads(made)], scenario.start)
        self.history = History(keeps_facts=keeps_facts)
        if scenario.queueing is not Queueing.ACK and model.name != "ack":
            raise ScenarioError(f"queueing: {scenario.queueing.value} requires an ElasticQuotaTree (engine ack)")
        self.cluster_state = ClusterState(
            clock, EventQueue(), store, records, self.history, scenario.timing, scenario.queueing
        )
        engine = self.engine = model.made_by(self.cluster_state)
        self.workloads = Workloads(self.cluster_state, engine, admit)
        self.pools = NodePools(self.cluster_state, scenario.pools)
        engine.begin(self.workloads, self.pools)
        self.history.parents = dict(engine.parents)
        self._autoscalers = Autoscalers(self.cluster_state, self.workloads)
        self._handlers: dict[type, Callable[[Any], None]] = {
            ClusterExpires: lambda event: self.workloads.expire(event.workload),
            WorkloadArrives: lambda event: self.workloads.arrive(event.workload),
            AutoscaleDue: lambda event: self._autoscalers.look(event.number),
            CronDue: lambda event: self.workloads.cron_jobs.make(event.workload, event.number),
            CycleDue: lambda _: engine.run_cycle() if self.cluster_state.begins_cycle() else None,
            FillDue: lambda event: self.workloads.try_again(event.workload),
            WorkloadLeaves: lambda event: self.workloads.leave(
                event.workload, only_if_unstarted=event.only_if_unstarted
            ),
            NodeDrains: lambda event: self._drain(event.node),
            NodeFails: lambda event: self._fail(event.node),
            NodeJoins: lambda event: self._join(event.node, event.pool),
            ObjectsMade: lambda event: self._make(event.manifests),
            ObjectDeleted: lambda event: self._deleted(event.kind, event.namespace, event.name),
            PodGone: self._pod_gone,
            PodsReady: lambda event: self._each(event, self.workloads.kubelet.make_ready),
            PodsRun: lambda event: self._each(event, self.workloads.kubelet.run),
            PoolCheck: lambda _: self.pools.check(),
            WorkloadScaled: lambda event: self.workloads.scale(event.workload, event.replicas, event.group),
            WorkDone: lambda event: self._each(event, self._work_done),
            **engine.handlers(),
        }
        self._retried: set[int] = set()
        self._begin(records, model.title)

    def _begin(self, records: Records, engine: str) -> None:
        for made in self.cluster_state.store.list("Node"):
            records.put_node(made)
            note_capacity(self.cluster_state, made["metadata"]["name"])
        self.pools.begin()
        start = self.scenario.start
        for work in self.scenario.works:
            self.cluster_state.events.plan(start + work.arrives_s, WorkloadArrives(self.workloads.add(work)))
        self._autoscalers.begin()
        for number, incident in enumerate(self.scenario.incidents):
            event = _event_of(incident)
            if type(event) not in self._handlers:
                raise ScenarioError(f"events[{number}]: {engine} does not support this event")
            self.cluster_state.events.plan(start + incident.at_s, event)

    @property
    def ends_at(self) -> float | None:
        """The end time of the scenario; None if it ends by itself."""
        until = self.scenario.until_s
        return None if until is None else self.scenario.start + until

    def step(self) -> bool:
        """Handle the next event; return whether there was one before the end.

        If the clock is already past its time, it is handled now.
        """
        events, clock, ends_at = self.cluster_state.events, self.cluster_state.clock, self.ends_at
        at = events.next_at()
        if at is None or (ends_at is not None and at > ends_at):
            return False
        if ends_at is None and self._retried and self._is_denied_for_good():
            return False
        at, event = events.take()
        self._note_retry(event)
        clock.advance(max(at, clock.now))
        self._handlers[type(event)](event)
        return True

    def _note_retry(self, event: Event) -> None:
        if type(event) is FillDue:
            self._retried.add(event.workload)
        elif type(event) is not CycleDue:
            self._retried.clear()

    def _is_denied_for_good(self) -> bool:
        """Whether only retries remain of pods that were denied again since the last change.

        Such a controller never stops, and without other events its next attempt is denied for the same reason.
        """
        events = self.cluster_state.events
        return 0 < len(events) <= len(self._retried) and events.kinds() == {FillDue}

    def run(self, on_progress: Callable[[float], None] | None = None) -> History:
        """Run to the end and return the history; `on_progress` is called with the elapsed seconds after each event."""
        n_events = 0
        while self.step():
            n_events += 1
            if n_events % _CHECKED_EVERY == 0:
                self._check()
            if on_progress is not None:
                on_progress(self.cluster_state.elapsed_s)
        if self.ends_at is not None:
            self.cluster_state.clock.advance(max(self.cluster_state.now, self.ends_at))
        return self.finish()

    def _check(self) -> None:
        found = broken(self.cluster_state, self.workloads.running, self.engine.starts_together)
        if found:
            raise InvariantError(f"after {self.cluster_state.elapsed_s:g} s: {found[0]}")

    def finish(self) -> History:
        """Close the history at the current time, and return it."""
        self.history.end(self.cluster_state.elapsed_s)
        return self.history

    def _pod_gone(self, event: PodGone) -> None:
        self.workloads.pod_gone(event.uid)
        self.pools.settle()

    def _each(self, event: JointEvent, handle: Callable[[Any], None]) -> None:
        """Handle the members of an event in order, until another event becomes due before them."""
        members: list[Any] = event.members
        # Nothing joins it any more.
        event.members = []
        for number, member in enumerate(members, 1):
            handle(member)
            if number < len(members) and self.cluster_state.events.put_back(event, members[number:]):
                return

    def _work_done(self, work: Work) -> None:
        self.workloads.work_done(*work)
        self.pools.settle()

    def _join(self, node: str, pool: str) -> None:
        if self.cluster_state.store.get("Node", "", node) is not None:
            set_ready(self.cluster_state, node, ready=True)
        elif pool:
            self.pools.join(node, pool)
        else:
            self._has_node(node, "joins")

    def _fail(self, node: str) -> None:
        if self._has_node(node, "fails"):
            set_ready(self.cluster_state, node, ready=False)
            self.workloads.kubelet.node_failed(node)

    def _drain(self, node: str) -> None:
        if self._has_node(node, "drains"):
            cordon(self.cluster_state, node)
            for uid in list(self.cluster_state.pods_on.get(node, ())):
                self.workloads.kubelet.stop(self.cluster_state.pods[uid], ENDED_BY_EVICTION)

    def _has_node(self, node: str, what: str) -> bool:
        """Return whether the node of an event exists; record it as missed if not."""
        if self.cluster_state.store.get("Node", "", node) is not None:
            return True
        self._miss(f"node {node} {what}, but it does not exist at that time")
        return False

    def _miss(self, why: str) -> None:
        """Record an event of the scenario that had no effect."""
        self.history.missed_events.append(f"{self.cluster_state.elapsed_s:g} s: {why}")
        self.cluster_state.note("event-without-effect", why=why)

    def _make(self, manifests: Iterable[Manifest]) -> None:
        """Create objects; existing ones are skipped."""
        manifests = tuple(manifests)
        for node in manifests:
            if node["kind"] == "Node" and self.cluster_state.store.get("Node", "", name_of(node)) is None:
                add_node(self.cluster_state, node)
        for made in _made(self.cluster_state.store, manifests):
            self.cluster_state.note("made", why=f"{made['kind']} {namespace_of(made)}/{name_of(made)}")

    def _deleted(self, kind: str, namespace: str, name: str) -> None:
        """Delete an object; a missing one is recorded and skipped."""
        cluster_state = self.cluster_state
        made = cluster_state.store.get(kind, namespace, name)
        if made is None:
            self._miss(f"{kind} {namespace}/{name} is deleted, but it does not exist at that time")
            return
        cluster_state.note("deleted", why=f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}")
        if kind == "Pod":
            self.workloads.remove_pod(made["metadata"]["uid"], ENDED_BY_DELETION)
        elif kind == "Node":
            for uid in list(cluster_state.pods_on.get(name, ())):
                self.workloads.remove_pod(uid, ENDED_BY_NODE)
            remove_node(cluster_state, name)
            self.pools.gone(name)
        elif kind == "PodGroup":
            self.workloads.group_deleted(namespace, name)
        elif kind in _ANSWERED:
            cluster_state.store.delete(kind, namespace, name)
        else:
            self.workloads.deleted(kind, namespace, name)


def _made(store: ObjectStore, objects: Iterable[Manifest]) -> list[Manifest]:
    """Create objects, each once: an object that occurs in two trees is created once."""
    made: list[Manifest] = []
    for manifest in objects:
        try:
            created = store.create(manifest)
        except Conflict:
            continue
        made.append(created)
    return [each for each in made if each["kind"] != "Node"]


def _default_classes(store: ObjectStore, classes: Mapping[str, int]) -> Iterable[Manifest]:
    for name, value in classes.items():
        if store.get("PriorityClass", "", name) is None:
            yield {
                "apiVersion": PRIORITY_CLASS_API,
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }


def _event_of(incident: Incident) -> Event:
    match incident.what:
        case "fails":
            return NodeFails(incident.node)
        case "drains":
            return NodeDrains(incident.node)
        case "joins":
            return NodeJoins(incident.node)
        case "deleted":
            return ObjectDeleted(*incident.object)
        case "made":
            return ObjectsMade(incident.makes)
        case "priority":
            _, namespace, name = incident.object
            return JobChanged(namespace, name, incident.priority)
    raise ValueError(f"unknown event `{incident.what}`")
