"""Recorded timelines of kube-queue and koord-queue, run on `JobQueues`, whose decisions the simulated engine and the live
scheduler carry out.

Under kube-queue, times are seconds, and the queues decide once a second. Under koord-queue, times are steps, and each event of
a step is followed by 400 seconds. Each event is 50 microseconds later than a multiple of that, so that no two timers end at
the same time. Within a step, the order of decisions is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from apportion_api.ack.names import FULL_NAME_ANNOTATION, QUEUE_ARGS_ANNOTATION, QUEUE_NAMESPACE
from apportion_runtime.kube_queue.amounts import amounts, times
from apportion_runtime.kube_queue.job_queue import Unit
from apportion_runtime.kube_queue.job_queues import Dequeued, JobQueues
from apportion_runtime.kube_queue.jobs import is_preemptible
from apportion_runtime.kube_queue.queueing import RULES, Queueing, QueueRules
from apportion_runtime.kube_queue.queues import settings
from apportion_runtime.kube_queue.tree import read_tree

Made = dict[str, Any]


SETTLING_S = 400
"""koord-queue notices quota that another queue released after up to 210 seconds."""
_QUOTA = re.compile(r"quota ([^:]+):")


def agrees(case: Mapping[str, Any]) -> bool:
    """Return whether the simulated engine decides as in one of the recorded outcomes, with the rules of the public code.

    It must do so with ACK's rules as well, except in the cases in which they differ.
    """
    rules = [public_rules(case), RULES[Queueing.ACK]][: 1 if "differs" in case else 2]
    return all(simulated(case, each) in case["outcomes"] for each in rules)


def public_rules(case: Mapping[str, Any]) -> QueueRules:
    """Return the rules of the public code that decided a case."""
    return RULES[Queueing(case["engine"])]


def simulated(case: Mapping[str, Any], rules: QueueRules) -> Made:
    """Return the dequeued jobs with their times, and the quota that first refused each job."""
    timeline = _Timeline(case, rules)
    dequeued = [[at, name] for at, name in timeline.dequeued]
    by_step = case["engine"] == "koord-queue"
    return {"dequeued": sorted(dequeued) if by_step else dequeued, "refused": timeline.refused}


class _Timeline:
    def __init__(self, case: Mapping[str, Any], rules: QueueRules) -> None:
        self._case = case
        tree = read_tree({"spec": {"root": case["tree"]}})
        known, _ = settings(tree, map(queue_object, case["queues"]))
        self._queues = JobQueues(tree, known.values(), rules)
        self._numbers = {job["name"]: number for number, job in enumerate(case["jobs"])}
        self._ends: list[tuple[int, str]] = []
        self._now = -1
        self._n_settled = 0
        self.dequeued: list[tuple[int, str]] = []
        self.refused: dict[str, str] = {}
        if case["engine"] == "kube-queue":
            self._run_seconds()
        else:
            self._run_steps()

    def _run_seconds(self) -> None:
        arrivals = sorted({each["at"] for each in (*self._case["jobs"], *self._case["changes"])})
        while True:
            moments = [*arrivals, *(end for end, _ in self._ends), *filter(None, (self._queues.wakes_at(),))]
            self._now = min((int(at) for at in moments if at > self._now), default=self._case["until"] + 1)
            if self._now > self._case["until"]:
                return
            for _ in self._events():
                pass
            self._decide(self._time)

    def _run_steps(self) -> None:
        for step in range(self._case["until"] + 1):
            self._now = step
            for _ in self._events():
                self._decide(self._time)
                self._n_settled += 1
                if self._queues.accounts.rules.has_loops:
                    self._decide(float(SETTLING_S * self._n_settled))

    @property
    def _time(self) -> float:
        """The time of the next event, in seconds."""
        if self._case["engine"] == "kube-queue":
            return float(self._now)
        return SETTLING_S * self._n_settled + 0.001 + 50e-6 * self._n_settled

    def _events(self) -> Iterator[None]:
        """Apply what happens at this time: jobs finish, priorities change, and jobs arrive."""
        queues = self._queues
        for end in sorted(end for end in self._ends if end[0] == self._now):
            self._ends.remove(end)
            number = self._numbers[end[1]]
            queues.give_back(queues.held.pop(number).unit, self._time)
            yield
        for change in self._case["changes"]:
            number = self._numbers[change["job"]]
            queue = queues.queue_of(number)
            if change["at"] == self._now and queue and queue.units[number].priority != change["priority"]:
                queues.change_priority(number, change["priority"], self._time)
                yield
        for number, job in enumerate(self._case["jobs"]):
            if job["at"] == self._now:
                queues.put(job["queue"], self._unit(number, job, self._time))
                yield

    def _decide(self, now: float) -> None:
        for decision in self._queues.run(now):
            job = self._case["jobs"][decision.unit.job]
            if isinstance(decision, Dequeued):
                self.dequeued.append((self._now, job["name"]))
                self._ends.append((self._now + job["runs"], job["name"]))
            else:
                found = _QUOTA.search(decision.why)
                assert found is not None
                self.refused.setdefault(job["name"], found[1])

    def _unit(self, number: int, job: Mapping[str, Any], now: float) -> Unit:
        made = {"metadata": {"namespace": job["namespace"], "labels": job["labels"]}}
        quota = self._queues.tree.quota_of(made)
        assert quota is not None
        demand = times(amounts(job["requests"]), job["count"])
        preemptible = is_preemptible(made)
        return Unit(number, job["name"], job["namespace"], quota, demand, job["priority"], preemptible, now)


def queue_object(queue: Mapping[str, Any]) -> Made:
    """Return a recorded queue as an object."""
    arguments = f"podInitialBackoffSeconds: {queue['first']}\npodMaxBackoffSeconds: {queue['longest']}\n"
    annotations = {FULL_NAME_ANNOTATION: queue["quota"], QUEUE_ARGS_ANNOTATION: arguments}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": queue["name"], "namespace": QUEUE_NAMESPACE, "annotations": annotations},
        "spec": {"queuePolicy": queue["policy"], "priority": queue["priority"]},
    }
