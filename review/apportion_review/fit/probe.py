"""Probe of an engine: the decision about a workload that is submitted to the current cluster.

The cluster is reused between probes, and rebuilt after one that evicted or started other workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from apportion_compiler.plain_objects import Manifest, items, labels_of, mapping, name_of
from apportion_compiler.pool_label_keys import GKE_NODE_POOL_LABEL, POOL_LABEL
from apportion_review.fit.records import Decision, Outcome, Placement, Victim
from apportion_runtime.core.search_limit import SearchLimit
from apportion_runtime.sim.api.cluster_state import PodState
from apportion_runtime.sim.api.events import WorkloadArrives
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.history import EvictionFact
from apportion_runtime.sim.scenario.format import Work

_NOW_S = 60.0
"""A workload that starts within this time after submission starts now: controllers and cycles take a few seconds."""
_HORIZON_S = 3600.0
_MAX_EVENTS = 200_000
MAX_EVICTIONS = 100_000
"""Maximum number of simulated evictions in the victim searches of one probe: many seconds of work."""
SEARCH_STOPPED = f"the search for victims stopped after {MAX_EVICTIONS:,} simulated evictions"
POOL_LABELS = (POOL_LABEL, GKE_NODE_POOL_LABEL)


_Found = TypeVar("_Found")


class Probe:
    """A cluster to which workloads are submitted.

    Args:
        build: Builds the cluster.
        limit: Limit of all victim searches together; by default, each probe has its own.
    """

    def __init__(self, build: Callable[[], Cluster], limit: SearchLimit | None = None) -> None:
        self._build = build
        self._settled: Cluster | None = None
        self._limit = limit
        self._limits: list[SearchLimit] = []

    @property
    def cluster(self) -> Cluster:
        """The cluster after all decisions about its own workloads."""
        if self._settled is None:
            self._settled = self._build()
            self._settled.cluster_state.search_limit = self.next_limit()
            run(self._settled, _HORIZON_S)
        return self._settled

    @property
    def is_incomplete(self) -> bool:
        """Whether a victim search stopped at its limit, so that a decision is missing."""
        return any(limit.is_exceeded for limit in self._limits)

    def invalidate(self) -> None:
        """Rebuild the cluster before the next probe."""
        self._settled = None

    def taken(self) -> Cluster:
        """Return the cluster for modification, and rebuild it before the next probe."""
        cluster = self.cluster
        cluster.cluster_state.search_limit = self.next_limit()
        self.invalidate()
        return cluster

    def decide(self, workload: Manifest) -> Decision:
        """Submit a workload, return the decision, and remove the workload."""
        limit = self.next_limit()
        decision = self._submitted(workload, limit)
        if limit.is_exceeded:
            return replace(decision, outcome=Outcome.UNDECIDED, reason=SEARCH_STOPPED)
        return decision

    def starts_now(self, workload: Manifest) -> bool:
        """Return whether a workload starts now. If it starts only with evictions, it does not: no victim search is necessary."""
        no_search = SearchLimit(0)
        decision = self._submitted(workload, no_search)
        if no_search.is_exceeded and decision.outcome is Outcome.NOW:
            # The search that was skipped may evict other work.
            decision = self.decide(workload)
        return decision.outcome is Outcome.NOW

    def attempt(self, find: Callable[[Cluster], _Found | None]) -> _Found | None:
        """Return the result of a modification of a cluster; None if it has none, or if a victim search stopped at its limit.

        Args:
            find: Modifies the cluster until the workload starts; returns None if other work is evicted.
        """
        cluster = self.taken()
        # Most attempts fail without a victim search, which takes most of the time.
        no_search = cluster.cluster_state.search_limit = SearchLimit(0)
        found = find(cluster)
        if found is None or not no_search.is_exceeded:
            return found
        cluster = self.taken()
        found = find(cluster)
        limit = cluster.cluster_state.search_limit
        return None if limit is not None and limit.is_exceeded else found

    def of_changed(self, build: Callable[[], Cluster]) -> Probe:
        """Return a probe of a changed cluster; if a decision of it is missing, this probe is incomplete."""
        changed = Probe(build, self._limit)
        changed._limits = self._limits
        return changed

    def next_limit(self) -> SearchLimit:
        """Return the limit of the victim searches of the next probe."""
        limit = SearchLimit(MAX_EVICTIONS) if self._limit is None else self._limit
        self._limits.append(limit)
        return limit

    def _submitted(self, workload: Manifest, limit: SearchLimit) -> Decision:
        cluster = self.cluster
        cluster.cluster_state.search_limit = limit
        before = _footprint(cluster)
        submission = Submission(cluster, workload)
        submission.settle(_HORIZON_S)
        decision = submission.decision()
        remains = not submission.withdraw() or cluster.engine.remembers_workloads
        if decision.victims or remains or _footprint(cluster) != before:
            self.invalidate()
        return decision


class Submission:
    """A workload that was submitted to a cluster."""

    def __init__(self, cluster: Cluster, workload: Manifest) -> None:
        self.cluster = cluster
        state = cluster.cluster_state
        self._since = state.now
        self._n_evicted = len(state.history.taken)
        self.number = cluster.workloads.add(Work(workload))
        self.placed_at: float | None = None
        state.events.plan(state.now, WorkloadArrives(self.number))

    def settle(self, seconds: float) -> None:
        """Run until all its pods have nodes, no events remain, or a time has passed."""
        run(self.cluster, seconds, self._is_placed)
        if self.placed_at is None and self._is_placed():
            self.placed_at = self.cluster.cluster_state.now

    @property
    def running(self) -> Running | None:
        """The workload, while it exists."""
        return self.cluster.workloads.running.get(self.number)

    def _is_placed(self) -> bool:
        running = self.running
        return running is not None and bool(running.slots) and len(_placed(self.cluster, running)) >= n_wanted(running)

    def decision(self) -> Decision:
        """Return the decision so far."""
        state, facts = self.cluster.cluster_state, self.cluster.cluster_state.history.workloads[self.number]
        running = self.running
        if running is None:
            return Decision(Outcome.REFUSED, facts.queue, reason=facts.why_waiting)
        pods = _placed(self.cluster, running)
        victims = tuple(_victims(self.cluster, state.history.taken[self._n_evicted :], self.number))
        after_s = None if self.placed_at is None else self.placed_at - self._since
        if after_s is None:
            outcome = Outcome.WAITS
        elif victims:
            outcome = Outcome.AFTER_EVICTIONS
        else:
            outcome = Outcome.NOW if after_s <= _NOW_S else Outcome.LATER
        return Decision(
            outcome,
            facts.queue,
            n_wanted(running),
            len(pods),
            tuple(_placements(self.cluster, pods)),
            _flavors(self.cluster, running),
            victims,
            ""
            if after_s is not None
            else _reason(self.cluster, running, facts.why_waiting or facts.why_waited, len(pods)),
            after_s,
        )

    def withdraw(self) -> bool:
        """Remove the workload and its pods at once; return whether no trace of it remains."""
        running = self.running
        self.cluster.workloads.leave(self.number)
        for uid in list(running.pods.values()) if running is not None else ():
            self.cluster.workloads.pod_gone(uid)
        return self.running is None


def run(cluster: Cluster, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    """Run until no events remain, a condition is satisfied, or a time has passed."""
    state = cluster.cluster_state
    end = state.now + seconds
    for _ in range(_MAX_EVENTS):
        at = state.events.next_at()
        if at is None or at > end or until() or not cluster.step():
            return


def n_wanted(running: Running) -> int:
    """Return the number of concurrent pods of a workload."""
    at_once = running.expansion.at_once
    return len(running.slots) if at_once is None else min(at_once, len(running.slots))


def _placed(cluster: Cluster, running: Running) -> list[PodState]:
    pods = (cluster.cluster_state.pods.get(uid) for uid in running.pods.values())
    return [pod for pod in pods if pod is not None and pod.is_bound and not pod.leaving]


def _reason(cluster: Cluster, running: Running, why: str, n_placed: int) -> str:
    if why:
        return why
    return (
        f"{n_placed} of {n_wanted(running)} pods are assigned to nodes" if n_placed else "the engine reports no reason"
    )


def _placements(cluster: Cluster, pods: list[PodState]) -> Iterator[Placement]:
    by_pool: dict[str, list[str]] = {}
    for pod in pods:
        node = cluster.cluster_state.store.get("Node", "", pod.record.node or "")
        labels = {} if node is None else labels_of(node)
        pool = next((labels[key] for key in POOL_LABELS if key in labels), "")
        by_pool.setdefault(pool, []).append(pod.record.node or "")
    for pool, nodes in sorted(by_pool.items()):
        yield Placement(pool, len(nodes), tuple(sorted(set(nodes))))


def _flavors(cluster: Cluster, running: Running) -> tuple[str, ...]:
    """Return the flavors in the admission of the workload's Workload objects (Kueue's)."""
    found: set[str] = set()
    identity = (running.manifest.get("kind"), name_of(running.manifest))
    for made in cluster.cluster_state.store.list("Workload"):
        owners = (mapping(each) for each in items(made, "metadata", "ownerReferences"))
        if any((owner.get("kind"), owner.get("name")) == identity for owner in owners):
            for assignment in items(made, "status", "admission", "podSetAssignments"):
                found.update(map(str, mapping(mapping(assignment), "flavors").values()))
    return tuple(sorted(found))


def _victims(cluster: Cluster, taken: list[EvictionFact], number: int) -> Iterator[Victim]:
    by_workload: dict[int, list[EvictionFact]] = {}
    for fact in taken:
        if fact.workload != number:
            by_workload.setdefault(fact.workload, []).append(fact)
    for victim, facts in by_workload.items():
        of = cluster.cluster_state.history.workloads[victim]
        first = facts[0]
        rule = first.action if first.rule in ("", first.action) else f"{first.action}: {first.rule}"
        gpus = round(1000 * sum(fact.gpus for fact in facts))
        yield Victim(of.kind, of.namespace, of.name, first.queue, gpus, len(facts), rule, first.message)


def _footprint(cluster: Cluster) -> tuple[object, ...]:
    """Return the state that a probe must not change: the nodes of pods, and pending workloads."""
    state = cluster.cluster_state
    return (len(state.pods), state.n_pending, sum(map(len, state.pods_on.values())), len(cluster.workloads.running))
