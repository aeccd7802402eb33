"""The start of a pending workload: at the deadlines of running work, or after some of it has ended."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.plain_objects import Manifest, text
from apportion_review.fit.clusters import ObservedCluster
from apportion_review.fit.probe import Probe, Submission
from apportion_review.fit.records import Ending, Start
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import WorkloadFacts

_AHEAD_S = 30 * 86_400.0
_MOST_ENDED = 64
"""Maximum number of running workloads to try."""
_MOST_PRUNED = 6
_SETTLES_S = 3600.0


def start_of(observed: ObservedCluster, probe: Probe, workload: Manifest) -> Start:
    """Return the start of a pending workload. Raises the same errors as `ObservedCluster.build`."""
    if any(each.ends is not None for each in observed.workloads()):
        found = _by_deadlines(observed, probe, workload)
        if found is not None:
            return found
    return Start(None, tuple(_suffice(probe, workload)))


def _by_deadlines(observed: ObservedCluster, probe: Probe, workload: Manifest) -> Start | None:
    """Simulate until running workloads have reached their deadlines."""
    cluster = observed.build(with_ends=True)
    limit = cluster.cluster_state.search_limit = probe.next_limit()
    submission = Submission(cluster, workload)
    submission.settle(_AHEAD_S)
    if submission.placed_at is None or limit.is_exceeded:
        return None
    since = cluster.cluster_state.clock.start
    ended = [
        (since + facts.finished_s, facts)
        for facts in cluster.cluster_state.history.workloads
        if facts.finished_s is not None
        and facts.number != submission.number
        and since + facts.finished_s <= submission.placed_at
    ]
    # The last workloads to end made room; the earlier ones did not suffice.
    last = sorted(ended, key=lambda each: -each[0])[:_MOST_PRUNED]
    return Start(
        submission.placed_at, tuple(_ending(facts, at) for at, facts in sorted(last, key=lambda each: each[0]))
    )


def _suffice(probe: Probe, workload: Manifest) -> Iterator[Ending]:
    """Yield running workloads whose end lets the workload start, as few as a greedy search finds."""
    facts = probe.cluster.cluster_state.history.workloads
    found = _sufficing(probe, workload, _candidates(probe.cluster, workload))
    if found is None:
        return
    if len(found) <= _MOST_PRUNED:
        for number in list(found):
            fewer = [each for each in found if each != number]
            if fewer and _sufficing(probe, workload, fewer) is not None:
                found = fewer
    for number in found:
        yield _ending(facts[number], None)


def _sufficing(probe: Probe, workload: Manifest, order: list[int]) -> list[int] | None:
    return probe.attempt(lambda cluster: _until_placed(cluster, workload, order))


def _candidates(cluster: Cluster, workload: Manifest) -> list[int]:
    """Return running workloads, those of the same namespace first, the largest ones first."""
    namespace = text(workload, "metadata", "namespace") or ""
    facts = cluster.cluster_state.history.workloads
    running = [
        number
        for number, each in cluster.workloads.running.items()
        if any(cluster.cluster_state.pods[uid].is_bound for uid in each.pods.values()) and facts[number].gpus
    ]
    return sorted(running, key=lambda n: (facts[n].namespace != namespace, -facts[n].gpus, n))[:_MOST_ENDED]


def _until_placed(cluster: Cluster, workload: Manifest, order: list[int]) -> list[int] | None:
    """Let workloads end one by one until the workload starts without evictions; None if it never does."""
    state = cluster.cluster_state
    submission = Submission(cluster, workload)
    submission.settle(_SETTLES_S)
    n_evicted = len(state.history.taken)
    ended: list[int] = []
    for number in order:
        running = cluster.workloads.running.get(number)
        if running is None:
            continue
        pods = list(running.pods.values())
        cluster.workloads.leave(number)
        for uid in pods:
            cluster.workloads.pod_gone(uid)
        ended.append(number)
        submission.settle(_SETTLES_S)
        if len(state.history.taken) != n_evicted:
            return None
        if submission.placed_at is not None:
            return ended
    return None


def _ending(facts: WorkloadFacts, at: float | None) -> Ending:
    return Ending(facts.kind, facts.namespace, facts.name, facts.queue, round(1000 * facts.gpus), at)
