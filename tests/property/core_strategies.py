"""Random clusters: cases in the format of the engine's own tables, and snapshots with what that format cannot say.

A case can be given to the real engine as it is. What runs in it fits its nodes, but may be beyond the quotas and limits
of its queue, as it is where a limit was lowered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hypothesis import strategies as st

from apportion_runtime.cases.case_checks import checked
from apportion_runtime.cases.reader import NOW, settings_of, snapshot_of
from apportion_runtime.core.pod_constraints import Taint, Toleration
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.snapshot import Pod, Queue, Settings, Snapshot
from apportion_runtime.core.status import RUNNING

from .cached_strategies import booleans, integers, permutations, sampled_from
from .free_resources import Room

Case = dict[str, Any]
Cluster = tuple[Snapshot, Settings]

LEVELS = ("block", "rack")
TOPOLOGY = "network"
MIG_PROFILES = ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb")
PRIORITIES = (50, 50, 75, 100, 125)
_LABEL = {"app": "picky"}


@dataclass(frozen=True)
class DeviceParts:
    """Requests for shared devices: fractions, or MiB, where device memory is that size or twice the size."""

    fractions: tuple[float, ...]
    memories: tuple[int, ...]
    device_memories: tuple[int, ...]


ANY_PARTS = DeviceParts((0.5, 0.5, 0.25, 0.3, 0.7), (50, 100, 200, 350), (400, 1000))
QUARTERS = DeviceParts((0.5, 0.5, 0.25, 0.75), (100, 100, 200), (200,))
"""Each fraction, rounded up to hundredths of a device, is exact in floating-point sums."""


def _rarely(draw: st.DrawFn, one_in: int) -> bool:
    return draw(integers(1, one_in)) == 1


def _nodes(draw: st.DrawFn, parts: DeviceParts) -> list[Case]:
    device_memory = draw(sampled_from((None, None, *parts.device_memories)))
    crowded = _rarely(draw, 4)
    nodes = []
    for number in range(draw(integers(1, 6))):
        node: Case = {
            "name": f"node-{number}",
            "gpus": draw(sampled_from((0, 1, 2, 4, 4, 8))),
            "labels": {"block": f"block-{number // 4}", "rack": f"rack-{number // 2}"},
        }
        if device_memory is not None:
            node["gpu_memory_mib"] = device_memory if not _rarely(draw, 4) else device_memory * 2
        if crowded:
            node["cpus"] = draw(sampled_from((2, 4, 16)))
            node["memory_bytes"] = draw(sampled_from((2, 8, 32))) * 10**9
            node["max_pods"] = draw(sampled_from((1, 3, 110)))
        if _rarely(draw, 12):
            node["mig_strategy"] = "mixed"
            node["mig_instances"] = {profile: draw(integers(0, 3)) for profile in MIG_PROFILES}
        if _rarely(draw, 10):
            del node["labels"]["rack"]
        nodes.append(node)
    return nodes


def _queues(draw: st.DrawFn, n_gpus: int) -> list[Case]:
    """Draw a tree of queues; in the format a limit of 0 GPUs means no limit."""
    depth: dict[str, int] = {"": 0}
    queues: list[Case] = []
    amounts = sampled_from((-1, 0, 0, 1, 2, 4, max(1, n_gpus // 2), n_gpus))
    bounds_cpu = _rarely(draw, 4)
    for number in range(draw(integers(1, 7))):
        parent = draw(sampled_from(sorted(name for name, deep in depth.items() if deep < 3)))
        queue: Case = {
            "name": f"queue-{number}",
            "parent": parent,
            "deserved_gpus": draw(amounts),
            "limit_gpus": draw(sampled_from((0, 0, -1, 1, 3, n_gpus))),
            "gpu_over_quota_weight": draw(sampled_from((0, 1, 1, 1, 2, 3))),
        }
        if _rarely(draw, 4):
            queue["priority"] = draw(sampled_from((50, 200)))
        if bounds_cpu:
            queue["deserved_cpu_millis"] = draw(sampled_from((-1, 0, 2000, 8000)))
            queue["limit_cpu_millis"] = draw(sampled_from((-1, -1, 4000, 16_000)))
            queue["deserved_memory_mb"] = draw(sampled_from((-1, 0, 4000)))
            queue["limit_memory_mb"] = draw(sampled_from((-1, -1, 6000)))
        if _rarely(draw, 6):
            queue["reclaim_min_runtime_seconds"] = draw(sampled_from((30, 300)))
        depth[queue["name"]] = depth[parent] + 1
        queues.append(queue)
    return queues


def leaves(queues: list[Case]) -> list[str]:
    """Return the queues that may have jobs."""
    parents = {queue["parent"] for queue in queues}
    return [queue["name"] for queue in queues if queue["name"] not in parents]


def _request(draw: st.DrawFn, parts: DeviceParts) -> Case:
    kind = draw(sampled_from(("whole",) * 6 + ("fraction",) * 3 + ("memory", "devices", "mig", "cpu", "nothing")))
    asked: Case = {"gpus_per_task": 0}
    if kind == "whole":
        asked["gpus_per_task"] = draw(sampled_from((1, 1, 2, 4)))
    elif kind in ("fraction", "devices"):
        asked["gpus_per_task"] = draw(sampled_from(parts.fractions))
        if kind == "devices":
            asked["gpu_fraction_devices_per_task"] = 2
    elif kind == "memory":
        asked["gpu_memory_mib_per_task"] = draw(sampled_from(parts.memories))
    elif kind == "mig":
        asked["mig"] = {draw(sampled_from(MIG_PROFILES)): 1}
    elif kind == "nothing":
        asked["best_effort"] = True
    if _rarely(draw, 3) and kind != "nothing":
        asked["cpus_per_task"] = draw(sampled_from((0.5, 2, 4)))
        asked["memory_bytes_per_task"] = draw(sampled_from((1, 2, 4))) * 10**9
    return asked


def _pod_sets(draw: st.DrawFn, tasks: list[Case]) -> Case:
    """Draw a tree of two or three pod sets, sometimes with one in a nested sub-group."""
    names = ["left", "right", "far"][: draw(integers(2, 3))]
    for task in tasks:
        task["sub_group"] = draw(sampled_from(names))
    sizes = {name: sum(task["sub_group"] == name for task in tasks) for name in names}
    sets = [
        {"name": name, "min_available": draw(integers(0, size)) if _rarely(draw, 3) else size}
        for name, size in sizes.items()
    ]
    tree: Case = {"name": "", "groups": [], "pod_sets": sets}
    if len(sets) > 2 and draw(booleans):
        tree = {"name": "", "groups": [{"name": "inner", "groups": [], "pod_sets": sets[1:]}], "pod_sets": sets[:1]}
    if _rarely(draw, 3):
        tree["min_sub_group"] = 1
    return tree


def _constraint(draw: st.DrawFn) -> Case:
    key = draw(sampled_from(("required_level", "required_level", "preferred_level")))
    return {"topology": TOPOLOGY, key: draw(sampled_from(LEVELS))}


def _job(draw: st.DrawFn, name: str, queues: list[str], nodes: list[str], parts: DeviceParts) -> Case:
    request = _request(draw, parts)
    mig = request.pop("mig", None)
    tasks: list[Case] = [
        {"pod_id": f"{name}-{n}", "state": "Pending"} for n in range(draw(sampled_from((1, 1, 2, 2, 3, 4, 6))))
    ]
    job: Case = {
        "name": name,
        "queue": draw(sampled_from(queues)),
        "priority": draw(sampled_from(PRIORITIES)),
        **request,
    }
    shape = draw(sampled_from(("gang", "gang", "elastic", "parts")))
    constrained = _rarely(draw, 5)
    if shape == "parts":
        job["sub_groups"] = _pod_sets(draw, tasks)
        if constrained:
            where = draw(st.sampled_from((job["sub_groups"], job["sub_groups"]["pod_sets"][0])))
            where["topology_constraint"] = _constraint(draw)
    elif shape == "elastic" or constrained:
        least = draw(integers(1, len(tasks))) if shape == "elastic" else len(tasks)
        job["sub_groups"] = {"name": "", "groups": [], "pod_sets": [{"name": "default", "min_available": least}]}
        if constrained:
            job["sub_groups"]["topology_constraint"] = _constraint(draw)
    else:
        job["min_available"] = len(tasks)
    if _rarely(draw, 5):
        job["preemptibility"] = draw(sampled_from(("preemptible", "non-preemptible")))
    if _rarely(draw, 8):
        job["preemption_delay_seconds"] = 3600
    if _rarely(draw, 10):
        job["delete_job_in_test"] = True
    affine, apart = _rarely(draw, 8), _rarely(draw, 10)
    for task in tasks:
        if mig is not None:
            task["mig_instances"] = mig
        if affine:
            task["node_affinity_names"] = draw(_some_nodes(tuple(nodes)))
        if apart:
            task["pod_affinity_labels"] = _LABEL
            task["pod_anti_affinity_topology_key"] = "kai.scheduler/type"
    job["tasks"] = tasks
    return job


@cache
def _some_nodes(names: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)


def _start(draw: st.DrawFn, job: Case, rooms: dict[str, Room]) -> None:
    """Place pods of a job on nodes with room, usually all of them."""
    wanted = len(job["tasks"]) if not _rarely(draw, 5) else draw(integers(0, len(job["tasks"])))
    leaving = _rarely(draw, 8)
    used: set[str] = set()
    for task in job["tasks"][:wanted]:
        order = draw(permutations(tuple(task.get("node_affinity_names") or sorted(rooms))))
        if "pod_anti_affinity_topology_key" in task:
            order = [name for name in order if name not in used]
        if any(rooms[name].take(job, task) for name in order):
            used.add(task["node"])
            task["state"] = "Releasing" if leaving and draw(booleans) else "Running"


@st.composite
def cases(draw: st.DrawFn, parts: DeviceParts = ANY_PARTS) -> Case:
    """Draw a cluster in the format of the engine's tables."""
    nodes = _nodes(draw, parts)
    names = [node["name"] for node in nodes]
    queues = _queues(draw, sum(node["gpus"] for node in nodes))
    rooms = {node["name"]: Room(node) for node in nodes}
    jobs = []
    for number in range(draw(integers(1, 9))):
        job = _job(draw, f"job-{number}", leaves(queues), names, parts)
        if draw(booleans):
            _start(draw, job, rooms)
        elif _rarely(draw, 12):
            job["tasks"][0]["state"] = draw(sampled_from(("Gated", "Succeeded")))
        jobs.append(job)
    case = {
        "name": "random",
        "nodes": nodes,
        "queues": queues,
        "jobs": jobs,
        "topologies": [{"name": TOPOLOGY, "levels": list(LEVELS)}],
        "disable_default_department": True,
        "staleness_grace_seconds": draw(sampled_from((0, 60))),
    }
    return checked(case)


@st.composite
def clusters(draw: st.DrawFn, parts: DeviceParts = ANY_PARTS) -> Cluster:
    """Draw a case as a snapshot, with zero limits, past usage, taints, failed nodes, and pods of other schedulers."""
    case = draw(cases(parts))
    snapshot = snapshot_of(case)
    nodes = list(snapshot.nodes)
    for n, node in enumerate(nodes):
        if _rarely(draw, 10):
            taint = Taint("dedicated", "", draw(sampled_from(("NoSchedule", "PreferNoSchedule"))))
            nodes[n] = replace(node, taints=(taint,))
        elif _rarely(draw, 15):
            nodes[n] = replace(node, ready=False) if draw(booleans) else replace(node, unschedulable=True)
    tolerant = draw(booleans)
    tolerations = (Toleration("dedicated", "Exists"),) if tolerant else ()
    pods = [replace(pod, tolerations=tolerations) for pod in snapshot.pods]
    if _rarely(draw, 8) and not any(pod.node == nodes[0].name for pod in pods):
        pods.append(_stranger(nodes[0].name))
    groups = [
        replace(group, last_start=NOW - draw(sampled_from((5, 60, 3600)))) if group.last_start else group
        for group in snapshot.pod_groups
    ]
    uses_past = _rarely(draw, 4)
    queues = tuple(_queue(draw, queue, uses_past=uses_past) for queue in snapshot.queues)
    made = replace(snapshot, nodes=tuple(nodes), pods=tuple(pods), queues=queues, pod_groups=tuple(groups))
    return made, _settings(draw, case)


def _stranger(node: str) -> Pod:
    """Draw a pod of another scheduler: it reduces the capacity to divide, and is charged to no queue."""
    request = {"pods": 1.0, "cpu": 500.0, "memory": 1e8}
    return Pod(
        "stranger", "stranger", "other", None, RUNNING, node, request=request, gpu=GpuRequest(), scheduler="other"
    )


def _queue(draw: st.DrawFn, queue: Queue, *, uses_past: bool) -> Queue:
    if _rarely(draw, 12):
        queue = replace(queue, gpu=replace(queue.gpu, limit=0.0))
    if _rarely(draw, 6):
        queue = replace(queue, cpu=replace(queue.cpu, weight=draw(sampled_from((0.0, 2.0)))))
    if _rarely(draw, 6):
        queue = replace(queue, preempt_min_runtime=draw(sampled_from((30.0, 300.0))))
    if uses_past:
        past = sampled_from((0.0, 0.1, 0.25, 0.5))
        queue = replace(queue, usage=(draw(past), draw(past), draw(past)))
    return queue


def _settings(draw: st.DrawFn, case: Case) -> Settings:
    """Draw the settings of the tables, or those of production."""
    settings = settings_of(case) if draw(booleans) else Settings()
    return replace(
        settings,
        k_value=draw(sampled_from((1.0, 1.0, 0.0, 0.5))),
        saturation_multiplier=draw(sampled_from((1.0, 1.0, 1.0, 1.5))),
        gpu_placement=draw(sampled_from(("binpack", "binpack", "spread"))),
        reclaim_resolve_method=draw(sampled_from(("lca", "lca", "queue"))),
    )
