"""YuniKorn's shim: applications of pods, and their gangs.

The first pod of an application defines its queue, user and task groups. With task groups, placeholders are allocated first;
the pods of the application are submitted once all of them are, and then replace them. Placeholders exist only here: they
occupy nodes in YuniKorn's accounts, but are no pods of the simulated cluster.

Source: yunikorn-k8shim pkg/cache (context.go, application.go, placeholder_manager.go, placeholder.go) at 23b6b47f.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_api.yunikorn.names import PARENT_QUEUE_ANNOTATION, SCHEDULER
from apportion_runtime.admission.objects import annotations_of, namespace_of
from apportion_runtime.engines.kube_scheduler.pods import PodFacts, pod_facts
from apportion_runtime.engines.yunikorn.allocations import Allocation
from apportion_runtime.engines.yunikorn.amounts import Amounts, plus
from apportion_runtime.engines.yunikorn.applications import HARD, Application, Phase
from apportion_runtime.engines.yunikorn.partition import Partition, RefusedError
from apportion_runtime.engines.yunikorn.placement import FORCED_TAG, place
from apportion_runtime.engines.yunikorn.pods import (
    TaskGroup,
    accepts_preemption,
    application_id,
    gang_style_of,
    pod_amounts,
    queue_named,
    required_node_of,
    task_group_of,
    task_groups_of,
    user_of,
)
from apportion_runtime.engines.yunikorn.queues import Queue
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.scenario.format import Manifest

_PARENT_QUEUE_TAG, _NAMESPACE_TAG = "namespace.parentqueue", "namespace"
_SHORTEST_TIMEOUT_S = 0.001
"""The timeout of placeholders whose time is over (pkg/common/utils.go of yunikorn-core)."""


@dataclass(slots=True, eq=False)
class Submission:
    """An application of the shim.

    Attributes:
        core: The application in the core; None if it was rejected.
        why: Why it was rejected.
        waiting: The pods that are submitted once all placeholders are allocated.
        placeholders: The placeholders by key.
        is_reserving: Whether placeholders are still to be allocated.
        has_originator: Whether its first pod was submitted.
    """

    core: Application | None
    why: str = ""
    waiting: list[tuple[PodFacts, Manifest]] = field(default_factory=list[tuple[PodFacts, Manifest]])
    placeholders: dict[str, Allocation] = field(default_factory=dict[str, Allocation])
    is_reserving: bool = False
    has_originator: bool = False


class Shim:
    """The applications of a cluster.

    Args:
        cluster_state: The simulated cluster.
        partition: The core.
        rules: The placement rules.
        facts: Filled with the facts of the pods of all requests, by key.
    """

    def __init__(
        self,
        cluster_state: ClusterState,
        partition: Partition,
        rules: Sequence[tuple[str, str]],
        facts: dict[str, PodFacts],
    ) -> None:
        self._cluster_state = cluster_state
        self._partition = partition
        self._rules = rules
        self._submissions: dict[str, Submission] = {}
        self._submission_of: dict[str, Submission] = {}
        self._n_reserving = 0
        """The number of submissions with placeholders that are still to be allocated, also of former ones."""
        self._n_created = 0
        self._facts = facts
        self.requests: dict[str, Allocation] = {}
        """The submitted requests of pods, by uid."""
        classes = cluster_state.store.list("PriorityClass")
        self._classes: Mapping[str, Manifest] = {made["metadata"]["name"]: made for made in classes}

    def submission_of(self, uid: str) -> Submission | None:
        """Return the submitted or waiting application of a pod."""
        return self._submission_of.get(uid)

    def queue_of(self, made: Manifest) -> str:
        """Return the path of the queue of a pod's application; empty if it is rejected."""
        known = self._submissions.get(application_id(made))
        if known is not None and known.core is not None and not known.core.is_over:
            return known.core.queue.path
        try:
            return self._place(made).path
        except RefusedError:
            return ""

    def submit(self, pod: PodFacts, made: Manifest) -> None:
        """Submit a pod, after its application; a pod of a gang waits until all placeholders are allocated."""
        submission = self._submission(made, pod)
        self._submission_of[pod.uid] = submission
        if submission.is_reserving:
            submission.waiting.append((pod, made))
        elif submission.core is not None:
            submission.core.add_request(self._request(submission, submission.core, pod, made))

    def recover(self, pod: PodFacts, made: Manifest, node: str) -> None:
        """Submit a pod that was bound before the simulation."""
        submission = self._submission(made, pod, gang=False)
        self._submission_of[pod.uid] = submission
        on = self._partition.nodes.get(node)
        if submission.core is not None and on is not None:
            request = self._request(submission, submission.core, pod, made)
            self._partition.recover(request, on, self._cluster_state.now)

    def left(self, uid: str) -> Allocation | None:
        """Forget a pod that is gone, and return its request, if it had one."""
        submission = self._submission_of.pop(uid, None)
        if submission is not None:
            submission.waiting = [each for each in submission.waiting if each[0].uid != uid]
        self._facts.pop(uid, None)
        return self.requests.pop(uid, None)

    def open_gangs(self) -> bool:
        """Submit the pods of gangs whose placeholders are all allocated, or timed out; return whether there were any."""
        found = False
        if not self._n_reserving:
            return False
        for submission in self._submissions.values():
            core = submission.core
            if not submission.is_reserving or core is None:
                continue
            is_complete = all(key in core.allocations for key in submission.placeholders)
            timed_out = core.phase is Phase.ACCEPTED and not core.requests and not core.allocations
            if not is_complete and not timed_out:
                continue
            submission.is_reserving = False
            self._n_reserving -= 1
            for pod, made in submission.waiting:
                core.add_request(self._request(submission, core, pod, made))
            found = found or bool(submission.waiting)
            submission.waiting = []
        return found

    def _submission(self, made: Manifest, pod: PodFacts, *, gang: bool = True) -> Submission:
        name = application_id(made)
        known = self._submissions.get(name)
        if known is not None and not (known.core is not None and known.core.is_over):
            return known
        groups = self._task_groups(made) if gang else ()
        style = gang_style_of(made)
        left_s = style.timeout_s + math.floor(pod.record.created or self._cluster_state.now) - self._cluster_state.now
        submission = self._submissions[name] = Submission(None)
        try:
            core = Application(
                name,
                self._place(made),
                user_of(made),
                self._created(self._cluster_state.now),
                self._partition.limits,
                _total(groups) if groups else None,
                max(left_s, _SHORTEST_TIMEOUT_S),
                style.style,
            )
            self._partition.add_application(core)
        except RefusedError as wrong:
            submission.why = f"application {name} was rejected: {wrong}"
            return submission
        if style.has_timeout and left_s <= 0:
            if groups and style.style == HARD:
                submission.why = f"application {name} failed: the timeout of its placeholders is over"
                return submission
            groups = ()
        submission.core = core
        submission.is_reserving = bool(groups)
        self._n_reserving += submission.is_reserving
        for group in groups:
            for _ in range(group.n_members):
                self._add_placeholder(submission, core, group, made, pod)
        return submission

    def _add_placeholder(
        self, submission: Submission, core: Application, group: TaskGroup, made: Manifest, first: PodFacts
    ) -> None:
        created = self._created(self._cluster_state.now)
        key = f"{core.name}/{group.name}/{created[1]}"
        placeholder = Allocation(
            key, core, group.amounts, created, first.priority, group.name, is_placeholder=True,
            may_be_preempted=accepts_preemption({**made, "metadata": {"annotations": group.annotations}}, self._classes),
            may_preempt=first.may_preempt,
        )  # fmt: skip
        spec = {**group.spec, "schedulerName": SCHEDULER, "containers": ()}
        metadata = {"name": f"tg-{created[1]}", "namespace": namespace_of(made), "uid": key}
        pod: Manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        record = self._cluster_state.records.read_pod(pod)
        self._facts[key] = pod_facts(pod, record, priority=first.priority, may_preempt=first.may_preempt)
        submission.placeholders[key] = placeholder
        core.add_request(placeholder)

    def _task_groups(self, made: Manifest) -> tuple[TaskGroup, ...]:
        try:
            return task_groups_of(made)
        except ValueError as wrong:
            self._cluster_state.note("task-groups-ignored", why=f"application {application_id(made)}: {wrong}")
            return ()

    def _request(self, submission: Submission, core: Application, pod: PodFacts, made: Manifest) -> Allocation:
        self._facts[pod.uid] = pod
        request = self.requests[pod.uid] = Allocation(
            pod.uid,
            core,
            pod_amounts(made["spec"]),
            self._created(pod.record.created or self._cluster_state.now),
            pod.priority,
            task_group_of(made),
            may_be_preempted=accepts_preemption(made, self._classes),
            may_preempt=pod.may_preempt,
            is_originator=not submission.has_originator,
            required_node=required_node_of(made),
        )
        submission.has_originator = True
        return request

    def _created(self, at: float) -> tuple[float, int]:
        """Return a time in whole seconds, as in a pod's creationTimestamp, with a number for its order."""
        self._n_created += 1
        return float(math.floor(at)), self._n_created

    def _place(self, made: Manifest) -> Queue:
        """Return the queue of a new application. Raises `RefusedError`."""
        partition = self._partition
        return place(self._rules, partition.queues, self._tags(made), queue_named(made), partition.recovery_queue)

    def _tags(self, made: Manifest) -> Mapping[str, str]:
        namespace = namespace_of(made)
        tags = {_NAMESPACE_TAG: namespace, FORCED_TAG: "true" if made["spec"].get("nodeName") else "false"}
        found = self._cluster_state.store.get("Namespace", "", namespace)
        placed = None if found is None else annotations_of(found).get(PARENT_QUEUE_ANNOTATION)
        return {**tags, _PARENT_QUEUE_TAG: placed} if placed else tags


def _total(groups: Sequence[TaskGroup]) -> Amounts:
    total: Amounts = {}
    for group in groups:
        for _ in range(group.n_members):
            total = plus(total, group.amounts)
    return total
