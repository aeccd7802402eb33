"""The scheduling loop: runs a cycle on the records, and carries out its decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from apportion_runtime.core.cycle import run_actions
from apportion_runtime.core.decision_times import next_decision_time
from apportion_runtime.core.explain.evictions import Eviction, evictions
from apportion_runtime.core.explain.pending import why_no_reclaim
from apportion_runtime.core.job import Job
from apportion_runtime.core.resources import GPU
from apportion_runtime.core.search_limit import SearchLimitExceededError
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import BINDING
from apportion_runtime.core.task import BY_MEMORY, Task
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.history import ENDED_BY_EVICTION, EvictionFact, Sample
from apportion_runtime.sim.kubelet.devices import Devices

_SAMPLE_S = 300.0
"""The maximum age of queue samples while no job waits, in seconds."""
_MOST_FRUITLESS = 10
"""The number of consecutive cycles with only rejected decisions after which the scheduler waits for a change."""
_PROMISED_TWICE = "the node has no free device: the engine allocated the same device twice"


class Scheduler:
    """Runs cycles.

    Args:
        cluster_state: The simulated cluster.
        workloads: Notified of placed pods.
        after: Called with each session whose actions have run.
        asks_all: Whether `after` reads the pending reasons of every job in every cycle.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        workloads: Workloads,
        after: Callable[[Session], None],
        asks_all: Callable[[], bool],
    ) -> None:
        self._cluster_state = cluster_state
        self._workloads = workloads
        self._after = after
        self._asks_all = asks_all
        self._was_waiting = True
        self._n_fruitless = 0
        self._sampled_s = 0.0
        # Whether the last cycle only bound pods whose allocation is what they requested.
        self._only_bound = False

    def run_cycle(self) -> None:
        """Run a cycle unless it could have no effect."""
        cluster_state = self._cluster_state
        waits = cluster_state.n_pending > 0
        if not waits and not self._was_waiting and cluster_state.elapsed_s - self._sampled_s < _SAMPLE_S:
            return
        self._was_waiting = waits
        cluster_state.history.n_cycles += 1
        if not waits and self._only_bound and cluster_state.records.only_binds_changed():
            # The samples would be those of the last cycle.
            self._sampled_s = cluster_state.elapsed_s
            return
        self._only_bound = False
        session = cluster_state.records.open(cluster_state.now, decides=waits)
        if waits:
            session.reasons.report_filter = self._is_unexplained
            session.reasons.are_brief = not self._asks_all()
            session.search_limit = cluster_state.search_limit
            with suppress(SearchLimitExceededError):
                run_actions(session)
            self._apply(session)
        self._sample(session)
        if waits:
            self._after(session)
            self._wake_in_time(session)

    def _apply(self, session: Session) -> None:
        decided = session.decided
        n_done = 0
        if decided.evictions:
            n_done += sum(self._evict(told) for told in evictions(session))
        # A later action may have evicted the pod: its node is then pipelined at best, and its own eviction frees no
        # resources there.
        by_job: dict[str, list[tuple[Task, str]]] = {}
        for task in decided.binds:
            pod = self._cluster_state.pods.get(task.uid)
            if pod is None:
                continue
            if task.status != BINDING:
                # Its gang continues without it, like a gang that lost a pod.
                if (group := self._workloads.group_of(pod)) is not None:
                    group.has_lost = True
            else:
                by_job.setdefault(task.job, []).append((task, session.nodes.names[task.node]))
        n_done += sum(map(self._bind, by_job.values()))
        self._note_jobs(session)
        n_asked = len(decided.binds) + len(decided.evictions)
        self._only_bound = (
            n_done == len(decided.binds)
            and not decided.evictions
            and not decided.pipelines
            and all(map(_is_charged_its_request, decided.binds))
        )
        self._n_fruitless = 0 if n_done else self._n_fruitless + 1
        if n_asked and self._n_fruitless < _MOST_FRUITLESS:
            self._cluster_state.request_cycle()

    def _bind(self, placed: Sequence[tuple[Task, str]]) -> int:
        """Bind pods of one job, and return how many were bound; none if the devices are not available."""
        cluster_state = self._cluster_state
        devices = {node: Devices(cluster_state, node) for _, node in placed}
        for task, node in placed:
            if not devices[node].take(task.pod.gpu.count, task.gpu_groups):
                pod = cluster_state.pods[task.uid]
                cluster_state.note("bind-refused", workload=pod.workload, pod=pod.name, node=node, why=_PROMISED_TWICE)
                return 0
        n_done = 0
        for task, node in placed:
            cpu, _, gpus = task.accepted_quantities
            if self._workloads.kubelet.bind(task.uid, node, cpu=cpu, gpus=gpus, gpu_groups=task.gpu_groups):
                self._workloads.placed(task.uid)
                n_done += 1
        return n_done

    def _evict(self, told: Eviction) -> bool:
        cluster_state = self._cluster_state
        pod = cluster_state.pods.get(told.pod)
        if pod is None or pod.leaving:
            return False
        gpus, node = pod.gpus, pod.record.node or ""
        if not self._workloads.kubelet.stop(pod, ENDED_BY_EVICTION):
            return False
        facts = cluster_state.history.workloads[pod.workload]
        for_group = (told.for_job or "").rpartition("/")[2]
        for_workload = self._workload_of(for_group)
        for_name = cluster_state.history.workloads[for_workload].name if for_workload >= 0 else ""
        last = cluster_state.history.taken[-1] if cluster_state.history.taken else None
        if last is None or (last.at_s, last.workload) != (cluster_state.elapsed_s, pod.workload):
            facts.n_evictions += 1
        cluster_state.history.taken.append(
            EvictionFact(
                cluster_state.elapsed_s, pod.name, pod.workload, facts.queue, node, gpus, told.action, for_group, for_workload,
                told.for_queue or "", told.rule, told.message,
            )
        )  # fmt: skip
        cluster_state.note("evicted", workload=pod.workload, pod=pod.name, node=node, by=for_name, why=told.because)
        return True

    def _workload_of(self, group: str) -> int:
        pods = self._cluster_state.records.session_cache.pods_of(group)
        uid = next((uid for uid in pods if uid in self._cluster_state.pods), None)
        return -1 if uid is None else self._cluster_state.pods[uid].workload

    def _note_jobs(self, session: Session) -> None:
        """Record what the engine writes to pod groups, and why they are pending."""
        records = self._cluster_state.records
        for job in session.jobs_of_cycle():
            group = job.group
            times = (job.last_start, job.last_eviction, job.stale_since)
            if times != (group.last_start, group.last_eviction, group.stale_since):
                records.set_times(group.at(*times))
            if job.fit_errors and job.n_pending:
                self._explain(session, job)

    def _is_unexplained(self, job: Job) -> bool:
        """Return whether no reason for waiting is recorded yet: the first one is kept."""
        pod = self._cluster_state.pods.get(next(iter(job.tasks), ""))
        return pod is not None and not self._cluster_state.history.workloads[pod.workload].why_waiting

    def _explain(self, session: Session, job: Job) -> None:
        why = next((message for error in job.fit_errors for message in error.messages), "")
        uid = next(iter(job.tasks), None)
        pod = None if uid is None else self._cluster_state.pods.get(uid)
        if why and pod is not None:
            facts = self._cluster_state.history.workloads[pod.workload]
            if not facts.why_waiting:
                forbidden = why_no_reclaim(session, job)
                if forbidden is not None:
                    why = f"{why.rstrip('. ')}; {forbidden.text}"
                self._cluster_state.note("waiting", workload=pod.workload, why=why)
                facts.why_waiting = why

    def _sample(self, session: Session) -> None:
        at = self._sampled_s = self._cluster_state.elapsed_s
        for queue in session.shares.take_changed():
            sample = Sample(at, queue.allocated[GPU], queue.fair[GPU], queue.deserved[GPU], queue.request[GPU])
            self._cluster_state.history.sample(queue.name, sample)

    def _wake_in_time(self, session: Session) -> None:
        """Schedule the next cycle for when the passage of time alone may change decisions."""
        at = next_decision_time(session)
        if at is not None:
            self._cluster_state.request_cycle(at)


def _is_charged_its_request(task: Task) -> bool:
    return task.kind != BY_MEMORY and task.accepted_quantities == task.quantities
