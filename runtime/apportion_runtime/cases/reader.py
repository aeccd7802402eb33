"""A case of a decision table as a snapshot, with the defaults of the engine's own test code.

Source: pkg/scheduler/test_utils (test_utils_builder.go, jobs_fake, nodes_fake, tasks_fake) at d5bc503a.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kai.names import TASK_PRIORITY_LABEL, ZONES_OBSERVED_ANNOTATION
from apportion_runtime.cases.devices import (
    claimed_gpus,
    claims_of,
    device_classes_of,
    devices_of,
    n_devices_on,
    references_of,
)
from apportion_runtime.core.pod_constraints import Expression, NodeTerm, PodTerm
from apportion_runtime.core.resources import GpuRequest, whole_or_fraction
from apportion_runtime.core.snapshot import (
    Node,
    NumaTopology,
    NumaZone,
    Pod,
    PodGroup,
    Queue,
    QueueResource,
    Settings,
    Snapshot,
    SubGroup,
    Topology,
    TopologyConstraint,
)
from apportion_runtime.core.status import ACTIVE_USED_STATUSES, ALLOCATED_STATUSES, BY_NAME, PIPELINED, RELEASING

Case = Mapping[str, Any]

NOW = 1_000_000.0
NODE_NAME_LABEL = "kai.scheduler/type"
_MINUTE = 60
_MOMENT = 1e-6
_MEGABYTE = 1_000_000
_CORES = 20_000.0
_MEMORY = 20e9
_MAX_PODS = 110
_DEVICE_MEMORY = 100
_PREEMPTIBLE_BELOW = 100
_DEFAULT_PRIORITY = 100


def settings_of(case: Case) -> Settings:
    """Return the engine's settings for a case."""
    staleness = case.get("staleness_grace_seconds", 0.0)
    made = Settings(
        actions=tuple(case["actions"]),
        max_consolidation_preemptees=-1,
        use_scheduling_signatures=False,
        staleness_grace=float(staleness),
        default_device_memory=_DEVICE_MEMORY,
    )
    conf = (case.get("mocks") or {}).get("scheduler_conf")
    if conf is not None:
        made = _configured(made, conf)
    if any(node.get("numa") for node in case["nodes"]):
        # The engine's test code adds it to any configuration.
        made = replace(made, plugins=made.plugins | {"numa"})
    return made


def _configured(settings: Settings, conf: Mapping[str, Any]) -> Settings:
    named = {plugin["name"]: plugin.get("arguments") or {} for tier in conf["tiers"] for plugin in tier["plugins"]}
    placement = named.get("nodeplacement", {})
    return replace(
        settings,
        plugins=frozenset(named),
        generators=tuple(name for name in named if name.startswith("sg-")),
        gpu_placement=placement.get("gpu", "binpack"),
        cpu_placement=placement.get("cpu", "binpack"),
    )


def snapshot_of(case: Case) -> Snapshot:
    """Return the cluster of a case.

    Raises:
        KeyError, TypeError, ValueError: If the case is not in the format.
    """
    jobs = sorted(case["jobs"], key=lambda job: -job["priority"])
    placed = [
        (task.get("node"), BY_NAME[task["state"]])
        for job in jobs
        for task in job["tasks"]
        if BY_NAME[task["state"]] & ACTIVE_USED_STATUSES
    ]
    nodes = tuple(
        _node(node, case, Counter(status for where, status in placed if where == node["name"]))
        for node in case["nodes"]
    )
    groups: list[PodGroup] = []
    pods: list[Pod] = []
    listed: set[str] = set()
    for number, job in enumerate(jobs):
        minutes = job.get("age_minutes") or len(jobs) - number
        # The engine's test code reads the clock for each job: of two jobs with the same age, the first is older.
        groups.append(_pod_group(job, NOW - minutes * _MINUTE - (len(jobs) - number) * _MOMENT))
        pods += (_pod(job, task, i, case, listed) for i, task in enumerate(job["tasks"]))
    return Snapshot(
        nodes=nodes,
        queues=tuple(_queues(case)),
        pod_groups=tuple(groups),
        pods=tuple(pods),
        topologies=tuple(Topology(t["name"], tuple(t["levels"])) for t in case.get("topologies", ())),
        claims=claims_of(case),
        devices=tuple(devices_of(case)),
        device_classes=device_classes_of(case),
        now=NOW,
    )


def _queues(case: Case) -> list[Queue]:
    departments = list(case.get("departments") or ())
    default_parent = None
    if case.get("auto_default_department") or not (departments or case.get("disable_default_department")):
        default_parent = "default"
        departments = [{"name": "default", "deserved_gpus": -1, "limit_gpus": -1, "gpu_over_quota_weight": -1}]
    queues = [_queue(q, i, default_parent or q.get("parent") or None) for i, q in enumerate(case["queues"])]
    above = [_queue({**d, "gpu_over_quota_weight": d["deserved_gpus"]}, i, None) for i, d in enumerate(departments)]
    by_name = {queue.name: queue for queue in (*queues, *above)}
    return list(by_name.values())


def _queue(queue: Case, number: int, parent: str | None) -> Queue:
    made = Queue(
        name=queue["name"],
        parent=parent,
        priority=queue.get("priority", _DEFAULT_PRIORITY),
        created=NOW + number * _MINUTE,
        reclaim_min_runtime=queue.get("reclaim_min_runtime_seconds"),
    )
    if queue.get("v1"):
        return made
    return replace(
        made,
        cpu=QueueResource(queue.get("deserved_cpu_millis", -1.0), queue.get("limit_cpu_millis", -1.0), 1.0),
        memory=QueueResource(_bytes(queue.get("deserved_memory_mb")), _bytes(queue.get("limit_memory_mb")), 1.0),
        gpu=QueueResource(
            queue["deserved_gpus"], queue.get("limit_gpus") or -1.0, queue.get("gpu_over_quota_weight", 0.0)
        ),
    )


def _bytes(megabytes: float | None) -> float:
    return -1.0 if megabytes is None else max(megabytes * _MEGABYTE, -1.0)


def _node(node: Case, case: Case, placed: Counter[int]) -> Node:
    strategy = node.get("mig_strategy", "")
    gpus = 0 if strategy == "mixed" else node["gpus"]
    allocatable: dict[str, float] = {
        "cpu": (node.get("cpus") or _CORES) * 1000,
        "memory": node.get("memory_bytes") or _MEMORY,
        "gpu": gpus,
        "pods": _places(node.get("max_pods"), placed),
        **(node.get("mig_instances") or {}),
    }
    # The engine's test code adds these devices to the node, without the mark of a node that has them.
    allocatable["gpu"] += n_devices_on(node["name"], case)
    synced = node.get("gpu_memory_synced")
    return Node(
        name=node["name"],
        allocatable=allocatable,
        labels={NODE_NAME_LABEL: node["name"], **(node.get("labels") or {})},
        gpu_memory=node.get("gpu_memory_mib") or _DEVICE_MEMORY,
        gpu_memory_synced=True if synced is None else synced,
        n_gpus=node["gpus"],
        mig_enabled=strategy != "",
        mig_strategy=strategy,
        numa=_numa(node["numa"]) if node.get("numa") else None,
        # The engine counts the pod slots of releasing pods before it sets the maximum to 0.
        releasing={} if node.get("max_pods") != 0 else {"pods": float(placed[RELEASING] - placed[PIPELINED])},
    )


def _places(most: int | None, placed: Counter[int]) -> int:
    if not most:
        # Without a limit on pods, pod slots are not counted: terminating pods free none.
        return _MAX_PODS if most is None else 0
    # In the engine's test code, a node with more pods than its limit has zero free pod slots, not fewer, and the slots
    # of expected pods count as taken.
    return max(most, placed.total()) - placed[PIPELINED]


def _numa(numa: Case) -> NumaTopology:
    zones = sorted(
        numa["zones"], key=lambda zone: int("".join(c for c in zone["id"].rpartition("-")[2] if c.isdigit()))
    )
    return NumaTopology(
        numa.get("policy", "none"),
        numa.get("scope", "container"),
        tuple(NumaZone(z["id"], amounts(z["available"]), amounts(z["allocatable"])) for z in zones),
    )


_SUFFIXES = {
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}


def amounts(quantities: Mapping[str, str]) -> dict[str, float]:
    """Return Kubernetes quantities in vector units."""
    return {name: _amount(name, str(text)) for name, text in quantities.items()}


def _amount(name: str, text: str) -> float:
    milli = text.endswith("m")
    digits = text.rstrip("kMGTPEim")
    number = float(digits) / 1000 if milli else float(digits) * _SUFFIXES[text[len(digits) :]]
    return number * 1000 if name == "cpu" else number


def _pod_group(job: Case, created: float) -> PodGroup:
    started = any(BY_NAME[task["state"]] & ALLOCATED_STATUSES for task in job["tasks"])
    stale = job.get("stale_seconds")
    explicit = job.get("preemptibility") or ""
    preemptible = explicit == "preemptible" if explicit else job["priority"] < _PREEMPTIBLE_BELOW
    return PodGroup(
        uid=job["name"],
        name=job["name"],
        namespace=job.get("namespace", ""),
        queue=job["queue"],
        priority=job["priority"],
        preemptible=preemptible,
        created=created,
        root=_root(job),
        last_start=NOW - _MINUTE if started else None,
        preemption_delay=job.get("preemption_delay_seconds"),
        staleness_grace=job.get("staleness_grace_period_seconds"),
        stale_since=None if stale is None else NOW - stale,
    )


def _root(job: Case) -> SubGroup:
    tree = job.get("sub_groups")
    if tree is None:
        return SubGroup("", None, (SubGroup("default", job.get("min_available", len(job["tasks"]))),))
    root = _sub_group(tree)
    loose = sum(not task.get("sub_group") for task in job["tasks"])
    if loose and "default" not in _names(root):
        root = replace(root, children=(*root.children, SubGroup("default", len(job["tasks"]))))
    return root


def _names(group: SubGroup) -> set[str]:
    return {group.name, *(name for child in group.children for name in _names(child))}


def _sub_group(tree: Case) -> SubGroup:
    children = [_sub_group(group) for group in tree.get("groups") or ()]
    children += [
        SubGroup(s["name"], s["min_available"], (), _constraint(s.get("topology_constraint")))
        for s in tree.get("pod_sets") or ()
    ]
    return SubGroup(
        tree.get("name", ""), tree.get("min_sub_group"), tuple(children), _constraint(tree.get("topology_constraint"))
    )


def _constraint(constraint: Case | None) -> TopologyConstraint | None:
    if not constraint:
        return None
    return TopologyConstraint(
        constraint.get("topology", ""), constraint.get("required_level", ""), constraint.get("preferred_level", "")
    )


def _pod(job: Case, task: Case, number: int, case: Case, listed: set[str]) -> Pod:
    uid = f"{job['name']}-{number}"
    gpu, request = _request(job, task, case, listed)
    status = BY_NAME[task["state"]]
    groups = tuple(task.get("gpu_groups") or ())
    node = task.get("node") or None
    if node is not None and job["gpus_per_task"] % 1 and not job.get("best_effort"):
        devices = job.get("gpu_fraction_devices_per_task")
        groups += tuple(f"given-{uid}-{n}" for n in range(len(groups), 1 if devices is None else devices))
    labels = {"job-name": uid, **(task.get("pod_affinity_labels") or {})}
    if task.get("priority") is not None:
        labels[TASK_PRIORITY_LABEL] = str(task["priority"])
    return Pod(
        uid=uid,
        name=uid,
        namespace=job.get("namespace", ""),
        group=job["name"],
        status=status,
        node=node if status & ACTIVE_USED_STATUSES or node else None,
        sub_group=task.get("sub_group", ""),
        request=request,
        gpu=gpu,
        gpu_groups=groups,
        legacy_mig=bool(task.get("legacy_mig")),
        labels=labels,
        node_affinity=_affinity(task),
        affinity=_company(task, "pod_affinity_topology_key"),
        anti_affinity=_company(task, "pod_anti_affinity_topology_key"),
        qos_class=job.get("qos_class", ""),
        claims=tuple(references_of(task)),
        missing_claims=tuple(task.get("pvc_names") or ()),
        numa_placement=_placed_in_zones(task),
    )


def _placed_in_zones(task: Case) -> tuple[tuple[str, Mapping[str, float]], ...]:
    written = (task.get("annotations") or {}).get(ZONES_OBSERVED_ANNOTATION)
    if not written:
        return ()
    try:
        return tuple((part["zone"], amounts(part["amount"])) for part in json.loads(written))
    except (ValueError, TypeError, KeyError):
        # The engine logs a warning for an unreadable record, and continues without it.
        return ()


def _request(job: Case, task: Case, case: Case, listed: set[str]) -> tuple[GpuRequest, dict[str, float]]:
    """Return the GPU request of a pod; `listed` receives the MIG profiles that containers request, pod after pod."""
    request: dict[str, float] = {"pods": 1.0}
    asked, memory, devices = job["gpus_per_task"], 0, None
    portion, whole = 0.0, 0
    if not job.get("best_effort"):
        request["cpu"] = (job.get("cpus_per_task") or 1.0) * 1000
        request["memory"] = job.get("memory_bytes_per_task") or 1e9
        memory = int(job.get("gpu_memory_mib_per_task") or 0)
        if asked == int(asked):
            # MIG instances are read from the container only if it also requests a number of devices.
            whole = int(asked)
            request.update({name: float(count) for name, count in (task.get("mig_instances") or {}).items()})
            listed.update(task.get("mig_instances") or ())
        else:
            # To the engine, a number with a fraction above one device is neither a fraction nor a number of devices.
            portion = asked
        devices = job.get("gpu_fraction_devices_per_task")
    # A task's own devices replace those of its job.
    made = whole_or_fraction(whole if task.get("gpus") is None else task["gpus"])
    if memory > 0:
        made = whole_or_fraction(0.0, memory)
    if 0 < portion < 1:
        made = whole_or_fraction(portion)
    if devices is not None and (memory > 0 or 0 < portion < 1):
        made = GpuRequest(devices, portion, memory)
    made = replace(made, dra=claimed_gpus(task, case))
    for name, count in sorted((task.get("mig_instances") or {}).items()):
        # The engine's test code also writes them as annotations, one of which replaces everything else; the vector has
        # no index for a profile that no earlier container requested.
        made = GpuRequest(mig=((name, count),))
        if name not in listed:
            request[name] = 0.0
    return made, request


def _affinity(task: Case) -> tuple[NodeTerm, ...] | None:
    names = task.get("node_affinity_names")
    return (NodeTerm((Expression(NODE_NAME_LABEL, "In", tuple(names)),)),) if names else None


def _company(task: Case, key: str) -> tuple[PodTerm, ...]:
    topology_key, labels = task.get(key), task.get("pod_affinity_labels")
    if not topology_key or not labels:
        return ()
    return (PodTerm(topology_key, tuple(Expression(k, "In", (v,)) for k, v in sorted(labels.items()))),)
