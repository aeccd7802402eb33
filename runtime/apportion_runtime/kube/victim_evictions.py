"""Evictions of a cycle: all victims of a beneficiary, or none.

The victims of one beneficiary free the resources together. If a disruption budget protects one of several, which a dry
run shows, none is evicted. Its job is not a victim in the following cycles, so that another one is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from apportion_api.counted_nouns import agreeing, counted
from apportion_runtime.core.explain.evictions import Eviction, evictions
from apportion_runtime.core.session import Session
from apportion_runtime.kube.backoffs import Backoffs
from apportion_runtime.kube.cluster import Cluster, Manifest
from apportion_runtime.kube.cycle_result import CycleResult, name_of
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.log import Decision
from apportion_runtime.kube.resources import POD, POD_GROUP
from apportion_runtime.kube.write_pool import Priority, WritePool, results

_REASONS = {
    "preempt": "Preempted",
    "reclaim": "Reclaimed",
    "consolidation": "Consolidated",
    "stalegangeviction": "StaleGang",
}
"""The reason of an event, by action."""


@dataclass(slots=True)
class _VictimSet:
    """The victims of one beneficiary, or of one stale gang."""

    beneficiary: str | None
    victims: list[tuple[Eviction, str, Manifest]] = field(default_factory=list)
    """Each with its job and its pod."""
    refusals: list[tuple[str, str, Refused]] = field(default_factory=list)
    """The job, the pod's name, and the refusal."""


@dataclass(frozen=True, slots=True)
class ProtectedVictims:
    """Jobs that are not evicted for a while, since an eviction was refused.

    Attributes:
        delays: The delays by job, each with the refused eviction.
        refused_for: The jobs whose eviction was refused, by beneficiary as `namespace/name`.
    """

    delays: Backoffs[str]
    refused_for: dict[str, dict[str, None]] = field(default_factory=dict)

    def refuse(self, job: str, beneficiary: str | None, why: str) -> None:
        """Record a refused eviction."""
        self.delays.reject(job, why)
        if beneficiary is not None:
            self.refused_for.setdefault(beneficiary, {})[job] = None

    def refusals(self) -> Mapping[str, str]:
        """Return the refusals that still apply, by beneficiary."""
        active = self.delays.active()
        for beneficiary, jobs in list(self.refused_for.items()):
            kept = {job: None for job in jobs if job in active}
            if kept:
                self.refused_for[beneficiary] = kept
            else:
                del self.refused_for[beneficiary]
        return {beneficiary: _refusal([active[job] for job in jobs]) for beneficiary, jobs in self.refused_for.items()}


def _refusal(reasons: Sequence[str]) -> str:
    first, n_others = reasons[0], len(reasons) - 1
    if n_others == 0:
        return first
    return f"{first} {counted(n_others, 'other eviction')} {agreeing(n_others, 'was', 'were')} refused, too."


def evict_victims(
    cluster: Cluster,
    pool: WritePool,
    session: Session,
    protected: ProtectedVictims,
    result: CycleResult,
    *,
    withheld: frozenset[str] = frozenset(),
) -> Sequence[str]:
    """Evict the victims of a cycle, and return the beneficiaries for which none was evicted although decided.

    Args:
        cluster: The cluster.
        pool: The threads that write.
        session: The cycle.
        protected: Receives the jobs whose eviction is refused.
        result: Receives the completed evictions.
        withheld: Beneficiaries, as `namespace/name`, for which no pod is evicted.

    Raises:
        NotLeader: If this scheduler lost its lease.
    """
    found = list(_victim_sets(cluster, session, protected))
    sets = [one for one in found if one.beneficiary not in withheld]
    asked = [(one, victim) for one in sets if len(one.victims) > 1 for victim in one.victims]
    results([pool.submit(Priority.EVICT, partial(_evict, cluster, *each, result, dry_run=True)) for each in asked])
    allowed = [(one, victim) for one in sets if not one.refusals for victim in one.victims]
    results([pool.submit(Priority.EVICT, partial(_evict, cluster, *each, result)) for each in allowed])
    for eviction, _, pod in (victim for one in sets for victim in one.victims):
        if eviction.name in result.evicted:
            _explain(cluster, pool, eviction, pod)
    for one in sets:
        _conclude(cluster, pool, one, protected, result)
    return [one.beneficiary for one in found if one.beneficiary is not None and one.beneficiary in withheld]


def _victim_sets(cluster: Cluster, session: Session, protected: ProtectedVictims) -> Iterator[_VictimSet]:
    jobs = {task.uid: task.job for task, _, _ in session.decided.evictions}
    refused = protected.delays.active()
    sets: dict[str, _VictimSet] = {}
    for eviction in evictions(session):
        namespace, _, name = eviction.name.rpartition("/")
        pod = cluster.get(POD, namespace, name)
        job = jobs[eviction.pod]
        is_gone = pod is None or pod["metadata"]["uid"] != eviction.pod or "deletionTimestamp" in pod["metadata"]
        if pod is None or is_gone or job in refused:
            continue
        one = sets.setdefault(eviction.for_job or f"stale {job}", _VictimSet(eviction.for_job))
        one.victims.append((eviction, job, pod))
    yield from sets.values()


def _evict(
    cluster: Cluster,
    victims: _VictimSet,
    victim: tuple[Eviction, str, Manifest],
    result: CycleResult,
    *,
    dry_run: bool = False,
) -> None:
    eviction, job, pod = victim
    try:
        cluster.evict(pod, dry_run=dry_run)
    except Refused as refused:
        if refused.rejection in (Rejection.BUDGET, Rejection.PERMANENT):
            victims.refusals.append((job, eviction.name, refused))
        elif not dry_run and refused.rejection is not Rejection.GONE:
            result.refused.append(f"{eviction.name}: {refused}")
    except Unreachable as unreachable:
        if not dry_run:
            result.refused.append(f"{eviction.name}: {unreachable}")
    else:
        if not dry_run:
            result.evicted.append(eviction.name)
            result.actions.append(eviction.action)


def _explain(cluster: Cluster, pool: WritePool, eviction: Eviction, pod: Manifest) -> None:
    first, *more = eviction.message.splitlines()
    why = f"{first} ({eviction.because})"
    pool.note(("evicted", eviction.pod), lambda: cluster.explain_eviction(pod, why))
    reason = _REASONS.get(eviction.action, "Evicted")
    pool.note(("event", eviction.pod), lambda: cluster.record(pod, reason, "\n".join((why, *more))))


def _conclude(
    cluster: Cluster, pool: WritePool, victims: _VictimSet, protected: ProtectedVictims, result: CycleResult
) -> None:
    done = [eviction for eviction, _, _ in victims.victims if eviction.name in result.evicted]
    for_whom = f" for {victims.beneficiary}" if victims.beneficiary else ""
    if done:
        names = _listed(sorted(eviction.name for eviction in done))
        line = f"evicted {len(done)} {_pods(len(done))}{for_whom} ({done[0].because}): {names}"
        fields = {"action": done[0].action, "beneficiary": victims.beneficiary, "rule": done[0].because}
        evicted = sorted(eviction.name for eviction in done)
        result.decisions.append(Decision(line, decision="evict", **fields, pods=evicted))
    if not victims.refusals:
        return
    # They are in the order of the responses.
    refusals = sorted(victims.refusals, key=lambda one: one[1])
    _, name, refused = refusals[0]
    jobs: dict[str, str] = {}
    for job, pod, why in refusals:
        jobs.setdefault(job, f"Eviction of {pod} was refused: {str(why).rstrip('.')}.")
    for job, refusal in jobs.items():
        protected.refuse(job, victims.beneficiary, refusal)
    # Another victim may be found.
    result.next_cycle_s = 0.0
    kept = len(victims.victims) - len(done)
    line = f"eviction of {name}{for_whom} was refused, and {kept} {_pods(kept)} {agreeing(kept, 'was', 'were')} not evicted: {refused}"
    result.decisions.append(Decision(line, decision="eviction-refused", beneficiary=victims.beneficiary, pods=[name]))
    namespace, _, group = (victims.beneficiary or "").rpartition("/")
    beneficiary = cluster.get(POD_GROUP, namespace, group)
    if beneficiary is not None:
        key = ("eviction refused", name_of(beneficiary))
        pool.note(key, lambda: cluster.record(beneficiary, "EvictionRefused", line, is_warning=True))


def _pods(count: int) -> str:
    return agreeing(count, "pod")


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
