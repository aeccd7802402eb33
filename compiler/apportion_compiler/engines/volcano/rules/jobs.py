"""Volcano Job: the rules of its schema and webhook, without those on pod templates.

Source: config/crd/volcano/bases/batch.volcano.sh_jobs.yaml and pkg/webhooks/admission/jobs/validate/{admit_job,util}.go
at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from apportion_api.volcano.names import BATCH_GROUP, ROOT_QUEUE, SHARED_QUEUE
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.volcano.rules.groups import network_topology, open_queue
from apportion_compiler.engines.volcano.rules.queue_tree import QueueTree
from apportion_compiler.engines.volcano.rules.queues import rejected
from apportion_compiler.kubernetes_names import is_label_value
from apportion_compiler.plain_objects import integer, items, mapping, name_of, of_kind, text

_EVENTS = ("*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated")
_ACTIONS = (
    "AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob",
    "ResumeJob",
)  # fmt: skip
_PLUGINS = ("ssh", "env", "svc", "tensorflow", "mpi", "pytorch", "hcclrank", "ray")


def job_verdicts(index: int, job: Manifest, tree: QueueTree, existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on a Job."""
    spec = mapping(job, "spec")
    tasks = items(spec, "tasks")
    if not tasks:
        yield rejected(index, "spec.tasks", "No task specified in job spec", "add at least one task", "Required")
        return
    replicas = 0
    for number, task in enumerate(tasks):
        replicas += _replicas(task)
        yield from _task(index, job, number, task)
    yield from _duplicates(index, tasks)
    for field, least in (("minAvailable", 0), ("maxRetry", 0), ("ttlSecondsAfterFinished", 0), ("minSuccess", 1)):
        yield from _number(index, f"spec.{field}", spec.get(field), least)
    if (integer(spec, "minAvailable") or 0) > replicas:
        yield rejected(
            index,
            "spec.minAvailable",
            f"job 'minAvailable' should not be greater than total replicas in tasks: {replicas}",
            f"lower minAvailable to {replicas}",
        )
    yield from _policies(index, "spec.policies", items(spec, "policies"))
    for plugin in mapping(spec, "plugins"):
        if plugin not in _PLUGINS:
            yield rejected(
                index, f"spec.plugins.{plugin}", f"unable to find job plugin: {plugin}", f"use {', '.join(_PLUGINS)}"
            )
    yield from _volumes(index, items(spec, "volumes"))
    yield from network_topology(index, "spec.networkTopology", mapping(spec, "networkTopology"))
    yield from _dependencies(index, tasks)
    before = [m for m in of_kind(existing, BATCH_GROUP, "Job") if _identity(m) == _identity(job)]
    if before:
        yield from _update(index, spec, mapping(before[-1], "spec"))
    else:
        yield from _queue(index, text(spec, "queue") or SHARED_QUEUE, tree)


def _identity(job: Manifest) -> tuple[str | None, str]:
    return text(job, "metadata", "namespace"), name_of(job)


def _replicas(task: object) -> int:
    return integer(task, "replicas") or 0


def _number(index: int, at: str, value: object, least: int) -> Iterator[Verdict]:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        yield rejected(
            index, at, f"must be an integer of at least {least}, not {value!r}", f"use an integer of at least {least}"
        )


def _task(index: int, job: Manifest, number: int, task: object) -> Iterator[Verdict]:
    at = f"spec.tasks[{number}]"
    name = text(task, "name") or f"default{number}"
    for field in ("replicas", "minAvailable", "maxRetry"):
        yield from _number(index, f"{at}.{field}", mapping(task).get(field), 0)
    least = integer(task, "minAvailable")
    if least is not None and least > _replicas(task):
        yield rejected(
            index,
            f"{at}.minAvailable",
            f"'minAvailable' is greater than 'replicas' in task: {name}, job: {name_of(job)}",
            f"lower minAvailable to {_replicas(task)}",
        )
    pod = f"{name_of(job)}-{name}-{number}"
    if not is_label_value(pod):
        yield rejected(
            index,
            f"{at}.name",
            f"create pod with name {pod} validate failed: 63 characters at most",
            "shorten the job or task name",
        )
    yield from _policies(index, f"{at}.policies", items(task, "policies"))
    yield from _partitions(index, at, name, job, task)


def _partitions(index: int, at: str, name: str, job: Manifest, task: object) -> Iterator[Verdict]:
    policy = mapping(task, "partitionPolicy")
    if not policy:
        return
    where = f"in task: {name}, job: {name_of(job)}"
    n_partitions, size = integer(policy, "totalPartitions") or 0, integer(policy, "partitionSize") or 0
    least, available = integer(policy, "minPartitions") or 0, integer(task, "minAvailable")
    if n_partitions <= 0:
        yield rejected(
            index,
            f"{at}.partitionPolicy",
            f"'TotalPartitions' must be greater than 0 {where}",
            "set totalPartitions to 1 or more",
        )
    elif size <= 0:
        yield rejected(
            index,
            f"{at}.partitionPolicy",
            f"'PartitionSize' must be greater than 0 {where}",
            "set partitionSize to 1 or more",
        )
    elif _replicas(task) != n_partitions * size:
        yield rejected(
            index,
            f"{at}.partitionPolicy",
            f"'Replicas' are not equal to TotalPartitions*PartitionSize {where}",
            f"set replicas to {n_partitions * size}",
        )
    elif available is not None and least > 0 and least * size != available:
        yield rejected(
            index,
            f"{at}.partitionPolicy",
            f"'MinAvailable' is not equal to MinPartitions*PartitionSize {where}",
            f"set minAvailable to {least * size}",
        )
    yield from network_topology(index, f"{at}.partitionPolicy.networkTopology", mapping(policy, "networkTopology"))


def _duplicates(index: int, tasks: Sequence[object]) -> Iterator[Verdict]:
    names = [text(task, "name") or f"default{number}" for number, task in enumerate(tasks)]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield rejected(
                index,
                f"spec.tasks[{number}].name",
                f"duplicated task name {name}",
                "give each task a unique name",
                "Duplicate",
            )


def _policies(index: int, at: str, policies: Sequence[object]) -> Iterator[Verdict]:
    events: set[str] = set()
    codes: set[object] = set()
    for number, entry in enumerate(policies):
        where, policy = f"{at}[{number}]", mapping(entry)
        named = list(dict.fromkeys([*(str(e) for e in items(policy, "events")), *_one(text(policy, "event"))]))
        code = policy.get("exitCode")
        if named and code is not None:
            yield rejected(
                index, where, "must not specify event and exitCode simultaneously", "remove event or exitCode"
            )
        elif not named and code is None:
            yield rejected(
                index, where, "either event and exitCode should be specified", "set event or exitCode", "Required"
            )
        elif code is not None:
            if code == 0:
                yield rejected(index, f"{where}.exitCode", "0 is not a valid error code", "use a different exit code")
            elif code in codes:
                yield rejected(
                    index,
                    f"{where}.exitCode",
                    f"duplicate exitCode {code}",
                    "remove one of the two policies",
                    "Duplicate",
                )
            codes.add(code)
        else:
            yield from _events(index, where, named, policy, events)
    if "*" in events and len(events) > 1:
        yield rejected(
            index,
            at,
            "if there's * here, no other policy should be here",
            "remove the other policies, or list their events instead of *",
        )


def _one(word: str | None) -> tuple[str, ...]:
    return () if word is None else (word,)


def _events(
    index: int, at: str, named: Sequence[str], policy: Mapping[str, object], events: set[str]
) -> Iterator[Verdict]:
    for event in named:
        if event not in _EVENTS:
            yield rejected(index, f"{at}.event", f"invalid policy event: {event}", f"use {', '.join(_EVENTS)}")
        elif event in events:
            yield rejected(
                index,
                f"{at}.event",
                f"duplicate event {event} across different policy",
                f"keep {event} in a single policy",
                "Duplicate",
            )
        events.add(event)
    action = text(policy, "action")
    if action not in _ACTIONS:
        yield rejected(index, f"{at}.action", f"invalid policy action: {action}", f"use {', '.join(_ACTIONS)}")


def _volumes(index: int, volumes: Sequence[object]) -> Iterator[Verdict]:
    paths: set[str] = set()
    for number, volume in enumerate(volumes):
        at, path = f"spec.volumes[{number}]", text(volume, "mountPath")
        claim, name = "volumeClaim" in mapping(volume), text(volume, "volumeClaimName")
        if path is None:
            yield rejected(index, f"{at}.mountPath", "mountPath is required", "set mountPath", "Required")
            continue
        if path in paths:
            yield rejected(
                index, f"{at}.mountPath", f"duplicated mountPath: {path}", "use a different mountPath", "Duplicate"
            )
        paths.add(path)
        if not claim and name is None:
            yield rejected(
                index,
                at,
                "either VolumeClaim or VolumeClaimName must be specified",
                "set volumeClaim or volumeClaimName",
                "Required",
            )
        elif claim and name is not None:
            yield rejected(
                index,
                at,
                "conflict: VolumeClaim and VolumeClaimName are both specified",
                "remove volumeClaim or volumeClaimName",
            )


def _dependencies(index: int, tasks: Sequence[object]) -> Iterator[Verdict]:
    graph: dict[str, set[str]] = {}
    for number, task in enumerate(tasks):
        after = {str(name) for name in items(task, "dependsOn", "name")}
        graph[text(task, "name") or f"default{number}"] = after
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError:
        valid = False
    else:
        # A dependency on a task that does not exist is never satisfied, and is not part of a cycle.
        valid = all(name in graph for after in graph.values() for name in after)
    if not valid:
        yield rejected(
            index,
            "spec.tasks",
            "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG)",
            "remove dependency cycles and dependencies on missing tasks",
        )


def _queue(index: int, queue: str, tree: QueueTree) -> Iterator[Verdict]:
    yield from open_queue(index, queue, tree, "job")
    if queue == ROOT_QUEUE:
        yield rejected(index, "spec.queue", "can not submit job to root queue", "use a leaf queue", "Forbidden")
    elif children := tree.children.get(queue):
        yield rejected(
            index,
            "spec.queue",
            f"can only submit job to leaf queue, queue `{queue}` has {len(children)} child queues",
            "use a leaf queue",
            "Forbidden",
        )


def _update(index: int, spec: Mapping[str, object], before: Mapping[str, object]) -> Iterator[Verdict]:
    """Report changes of fields other than `minAvailable`, the class and the replicas of tasks."""
    if len(items(spec, "tasks")) != len(items(before, "tasks")):
        yield rejected(index, "spec.tasks", "job updates may not add or remove tasks", "create a new job", "Forbidden")
    elif _fixed(spec) != _fixed(before):
        yield rejected(
            index,
            "spec",
            "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and "
            "`PriorityClassName`",
            "create a new job",
            "Forbidden",
        )


def _fixed(spec: Mapping[str, object]) -> dict[str, object]:
    kept = {key: value for key, value in spec.items() if key not in ("minAvailable", "priorityClassName", "tasks")}
    kept["tasks"] = [
        {key: value for key, value in mapping(task).items() if key not in ("replicas", "minAvailable")}
        for task in items(spec, "tasks")
    ]
    return kept
