"""Pod groups created by Volcano's controllers and other operators, with their gang minimum.

A Job, ReplicaSet or StatefulSet sets it by annotation, with a default of one pod; for a Ray cluster it is the whole
cluster, or its head and minimum workers with Ray autoscaling; a Kubeflow job has its own minimum; a Volcano Job has
`minAvailable`. A pod that refers to a PodGroup belongs to it.

Source: pkg/controllers/podgroup/pg_controller_handler.go, pkg/controllers/job; KubeRay's
ray-operator/controllers/ray/batchscheduler/volcano (1.6.2).
"""

from __future__ import annotations

from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.kubernetes.operators import (
    LWS_GROUP_LABEL,
    RAY_GROUP_LABEL,
    RAY_HEAD_GROUP,
    RAY_PRIORITY_CLASS_LABEL,
    REPLICA_TYPE_LABEL,
)
from apportion_api.objects import read
from apportion_api.volcano.names import (
    BATCH_GROUP,
    GROUP_ANNOTATION,
    MIN_MEMBER_ANNOTATION,
    PREEMPTABLE,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    TASK_ANNOTATION,
)
from apportion_api.volcano.objects import PodGroup
from apportion_runtime.admission.expansion import Slot, is_observed
from apportion_runtime.admission.objects import (
    annotations_of,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    text,
    whole,
)
from apportion_runtime.engines.volcano.capacity import DEFAULT
from apportion_runtime.engines.volcano.group_state import GroupState, Phase
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import amounts, pod_requests, total
from apportion_runtime.snapshots.quantities import parse_time

OWN_MINIMUM = ("ray.io", "kubeflow.org")
"""API groups whose workloads specify their own minimum."""
_ROLE_LABELS = (TASK_ANNOTATION, RAY_GROUP_LABEL, REPLICA_TYPE_LABEL)
NO_QUEUE = ""
"""The queue of a job whose PodGroup does not exist: like one whose queue does not exist, the scheduler ignores it.

Source: pkg/scheduler/cache/cache.go (Snapshot).
"""
_BY_OWNER = frozenset((("batch", "Job"), ("apps", "ReplicaSet"), ("apps", "StatefulSet")))


def group_of(cluster_state: ClusterState, running: Running, made: Manifest) -> GroupState:
    """Return the pod group of a pod, from its object or its controller."""
    named = annotations_of(made).get(GROUP_ANNOTATION)
    if named:
        return _named(cluster_state, running, made, named)
    workload = running.manifest
    group, _ = kind_of(workload)
    if group in (*OWN_MINIMUM, BATCH_GROUP):
        return _of_workload(cluster_state, running, made)
    if group == "leaderworkerset.x-k8s.io":
        return _of_replica(cluster_state, running, made)
    return _of_owner(cluster_state, running, made)


def _named(cluster_state: ClusterState, running: Running, made: Manifest, name: str) -> GroupState:
    namespace = namespace_of(made)
    key = f"{namespace}/{name}"
    written = cluster_state.store.get("PodGroup", namespace, name) or cluster_state.store.get("PodGroup", "", name)
    group = PodGroup() if written is None else read(PodGroup, written)
    if group.faults:
        raise ValueError(f"PodGroup {key}: {group.faults[0]}")
    created = nested(written or {}, "metadata", "creationTimestamp") if is_observed(running.manifest) else None
    state = GroupState(
        key,
        NO_QUEUE if written is None else group.queue or DEFAULT,
        group.min_member or 1,
        None if group.min_resources is None else amounts(group.min_resources),
        _priority(cluster_state, group.priority_class or "", made),
        cluster_state.now if created is None else parse_time(str(created)),
        running.number,
        is_owned=False,
        task_least=group.task_least,
    )
    if is_observed(running.manifest):
        phase = nested(written or {}, "status", "phase")
        state.phase = next((each for each in Phase if each.value == phase), state.phase)
    return state


def _of_workload(cluster_state: ClusterState, running: Running, made: Manifest) -> GroupState:
    """Return the group that a workload's operator creates for all of its pods."""
    workload = running.manifest
    labels, spec = labels_of(workload), workload.get("spec") or {}
    policy = nested(spec, "runPolicy", "schedulingPolicy") or {}
    queue = labels.get(QUEUE_LABEL) or policy.get("queue") or spec.get("queue")
    queue = queue or annotations_of(made).get(QUEUE_ANNOTATION) or DEFAULT
    class_name = (
        labels.get(RAY_PRIORITY_CLASS_LABEL) or policy.get("priorityClass") or spec.get("priorityClassName") or ""
    )
    slots = [slot for slot in running.slots.values() if not slot.comes_last]
    task_least: dict[str, int] = {}
    if kind_of(workload)[0] == BATCH_GROUP:
        task_least, least, needed_slots = _of_volcano_job(cluster_state, workload, slots)
    elif kind_of(workload)[0] == "ray.io":
        needed_slots = _of_ray(workload, slots)
        least = len(needed_slots)
        # The submitter of a job does not count for the minimum, but its resources are reserved.
        needed_slots += [slot for slot in running.slots.values() if slot.comes_last]
    else:
        least = int(policy.get("minAvailable") or len(slots))
        needed_slots = slots[:least]
    needed = total(pod_requests(slot.spec) for slot in needed_slots)
    return GroupState(
        f"{namespace_of(workload)}/{workload['metadata']['name']}",
        str(queue),
        least,
        needed,
        _priority(cluster_state, str(class_name), None if kind_of(workload)[0] == BATCH_GROUP else made),
        cluster_state.now,
        running.number,
        task_least=task_least,
    )


def _of_volcano_job(
    cluster_state: ClusterState, workload: Manifest, slots: list[Slot]
) -> tuple[dict[str, int], int, list[Slot]]:
    """Return the minimum of each task of a Volcano Job, its gang minimum, and the pods whose requests are reserved.

    Source: pkg/controllers/job/job_controller_actions.go (calcPGMinResources), job_controller_util.go.
    """
    spec = workload.get("spec") or {}
    of_task: dict[str, list[Slot]] = {}
    for slot in slots:
        of_task.setdefault(slot.labels[TASK_ANNOTATION], []).append(slot)
    task_least = {}
    for number, task in enumerate(spec.get("tasks") or ()):
        name, written = str(task.get("name") or f"default{number}"), whole(task, "minAvailable")
        task_least[name] = len(of_task.get(name, ())) if written is None else written
    least = whole(spec, "minAvailable") or sum(task_least.values())
    # Tasks by the priority of their pods' class.
    names = sorted(of_task, key=lambda name: -_class_value(cluster_state, of_task[name][0]))
    if least < sum(task_least.values()):
        return task_least, least, [slot for name in names for slot in of_task[name]][:least]
    first = [slot for name in names for slot in of_task[name][: task_least[name]]]
    others = [slot for name in names for slot in of_task[name][task_least[name] :]]
    return task_least, least, (first + others)[:least]


def _class_value(cluster_state: ClusterState, slot: Slot) -> int:
    found = cluster_state.store.get("PriorityClass", "", str(slot.spec.get("priorityClassName") or ""))
    return 0 if found is None else read(PriorityClass, found).value or 0


def _of_ray(workload: Manifest, slots: list[Slot]) -> list[Slot]:
    """Return the pods of the gang minimum: all, or the head and each group's `minReplicas` with Ray autoscaling."""
    cluster = _cluster_of(workload)
    if not nested(cluster, "enableInTreeAutoscaling"):
        return slots
    left = {
        text(group, "groupName") or f"worker-group-{number}": (whole(group, "minReplicas") or 0)
        * (1 if (hosts := whole(group, "numOfHosts")) is None else hosts)
        for number, group in enumerate(cluster.get("workerGroupSpecs") or ())
    }
    found: list[Slot] = []
    for slot in slots:
        group = slot.labels[RAY_GROUP_LABEL]
        if group == RAY_HEAD_GROUP or left[group] > 0:
            found.append(slot)
            left[group] = left.get(group, 0) - 1
    return found


def _cluster_of(workload: Manifest) -> Manifest:
    spec: Manifest = workload.get("spec") or {}
    return spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec


def _of_replica(cluster_state: ClusterState, running: Running, made: Manifest) -> GroupState:
    """Return the group of one leader and its workers, which LeaderWorkerSet creates for each replica."""
    number = labels_of(made).get(LWS_GROUP_LABEL, "0")
    own = [slot for slot in running.slots.values() if slot.labels.get(LWS_GROUP_LABEL, "0") == number]
    return GroupState(
        f"{namespace_of(made)}/{name_of(running.manifest)}-{number}",
        annotations_of(made).get(QUEUE_ANNOTATION) or DEFAULT,
        len(own),
        total(pod_requests(slot.spec) for slot in own),
        _priority(cluster_state, text(made, "spec", "priorityClassName"), made),
        cluster_state.now,
        running.number,
    )


def _of_owner(cluster_state: ClusterState, running: Running, made: Manifest) -> GroupState:
    """Return the group that Volcano's controller creates for the pods of one owner."""
    namespace = namespace_of(made)
    references = made["metadata"].get("ownerReferences") or ()
    owner = next((each for each in references if each.get("controller")), None)
    least = 1
    if owner is not None:
        found = cluster_state.store.get(owner["kind"], namespace, owner["name"])
        declared: dict[str, str] = {}
        if found is not None and kind_of(found) in _BY_OWNER:
            # A ReplicaSet has its Deployment's annotations.
            declared = {**annotations_of(running.manifest), **annotations_of(found)}
        written = declared.get(MIN_MEMBER_ANNOTATION, "1")
        least = int(written) if written.isdecimal() else 1
    asked = pod_requests(made["spec"])
    uid = made["metadata"]["uid"] if owner is None else owner["uid"]
    return GroupState(
        f"{namespace}/podgroup-{uid}",
        annotations_of(made).get(QUEUE_ANNOTATION) or DEFAULT,
        least,
        {name: value * least for name, value in asked.items()},
        _priority(cluster_state, text(made, "spec", "priorityClassName"), made),
        cluster_state.now,
        running.number,
    )


def _priority(cluster_state: ClusterState, name: str, made: Manifest | None) -> int:
    """Return the priority of a group by its class, or else that of a pod; without a pod, that of the default class."""
    found = cluster_state.store.get("PriorityClass", "", name) if name else None
    if found is not None:
        return read(PriorityClass, found).value or 0
    if made is not None:
        return int(nested(made, "spec", "priority") or 0)
    classes = cluster_state.store.list("PriorityClass")
    return next((int(each.get("value") or 0) for each in classes if each.get("globalDefault")), 0)


def is_preemptable(made: Manifest) -> bool:
    """Return whether a pod is preemptable: by default, or if its annotation is invalid."""
    declared = annotations_of(made).get(PREEMPTABLE, labels_of(made).get(PREEMPTABLE))
    return declared is None or str(declared).lower() in ("1", "t", "true")


def role_of(made: Manifest) -> str:
    """Return the role of a pod in its pod group; empty if it has none.

    Volcano's job controller, KubeRay and Kubeflow's training operator write the annotation.
    """
    labels = labels_of(made)
    written = (annotations_of(made).get(TASK_ANNOTATION), *map(labels.get, _ROLE_LABELS))
    return next((str(role) for role in written if role), "")
