"""The configuration that Volcano requires to enforce the queues.

The chart enables the plugin `proportion` and neither `reclaim` nor `preempt`: no hierarchy, no `deserved`, and no
reclaim of lent resources. Settings and reasons:

* All plugins are in one tier. The first tier that returns victims decides a reclaim, and `conformance` alone returns
  all candidates: with `capacity` in a later tier, `deserved` would never be evaluated.

* `gang` does not select victims. It protects the minimum of a gang, so that a guarantee could never be reclaimed from
  jobs that need all of their pods; without it, such a job is evicted and becomes pending.

* `drf` and `overcommit` are omitted: shares are those of the queues, and a job may wait for nodes that do not exist
  yet.

Source: pkg/scheduler/framework/session_plugins.go (Reclaimable), pkg/scheduler/plugins/{gang,capacity,nodegroup},
installer/helm/chart/volcano/config/volcano-scheduler.conf at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.volcano.configuration import SCHEDULER_CONFIG_MAP, SCHEDULER_KEY
from apportion_api.volcano.names import CONTROLLER_CONFIG_MAP, CONTROLLER_KEY, SYSTEM_NAMESPACE
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.yaml_documents import yaml_text
from apportion_compiler.engine_versions import parse_version
from apportion_compiler.engines.volcano.emit.groups import uses_groups
from apportion_compiler.engines.volcano.emit.queues import is_divided
from apportion_compiler.engines.volcano.emit.topologies import topology_types
from apportion_compiler.ir.program import Program

ACTIONS = "enqueue, allocate, preempt, reclaim, backfill"
FIT_SINCE = (1, 13)
"""The first version with the plugin `resource-strategy-fit`, which scores each resource by a separate strategy."""

_FIT = {"binpack": "MostAllocated", "spread": "LeastAllocated"}
_GPU_WEIGHT = 100
"""Weight of GPUs, so that free CPU does not outweigh free GPUs in the score."""


def config_maps(program: Program) -> Iterator[Manifest]:
    """Yield the scheduler's ConfigMap, and the controller's if there are network levels to discover."""
    yield _config_map(program, SCHEDULER_CONFIG_MAP, SCHEDULER_KEY, scheduler_configuration(program))
    if topology_types(program):
        yield _config_map(program, CONTROLLER_CONFIG_MAP, CONTROLLER_KEY, controller_configuration(program))


def scheduler_configuration(program: Program) -> str:
    """Return `volcano-scheduler.conf`."""
    unvetoed = {"enablePreemptable": False, "enableReclaimable": False}
    plugins: list[dict[str, object]] = [
        {"name": "priority"},
        {"name": "gang", **unvetoed},
        {"name": "conformance"},
        {"name": "capacity", "enableHierarchy": True, **_ancestors(program)},
        {"name": "predicates"},
    ]
    if uses_groups(program, divided=is_divided(program)):
        # Not strict: workloads outside the policy's queues can still run on nodes outside its pools.
        plugins.append({"name": "nodegroup", "arguments": {"strict": False}})
    if topology_types(program):
        plugins.append({"name": "network-topology-aware"})
    plugins += _placement(program)
    return _text({"actions": ACTIONS, "tiers": [{"plugins": plugins}]})


def controller_configuration(program: Program) -> str:
    """Return `volcano-controller.conf`, with which HyperNodes are created from labels of nodes."""
    config = {"networkTopologyTypes": topology_types(program)}
    return _text({"networkTopologyDiscovery": [{"source": "label", "enabled": True, "config": config}]})


def scores_each_resource(program: Program) -> bool:
    """Return whether the cluster's version supports different placements of GPU pods and other pods."""
    return (parse_version(program.engine_version) or FIT_SINCE) >= FIT_SINCE


def _ancestors(program: Program) -> dict[str, object]:
    """Return whether reclaim also evaluates the ancestors of a queue, so that inner queues keep their guarantees."""
    levels = max((len(queue.path) for queue in program.queues), default=1) - 1
    return {"arguments": {"ancestorReclaimLevel": levels}} if levels else {}


def _placement(program: Program) -> Iterator[dict[str, object]]:
    gpu, cpu = program.gpu_placement, program.cpu_placement
    if scores_each_resource(program):
        resources = {
            GPU_RESOURCE: {"type": _FIT[gpu], "weight": _GPU_WEIGHT},
            "cpu": {"type": _FIT[cpu], "weight": 1},
            "memory": {"type": _FIT[cpu], "weight": 1},
        }
        yield {"name": "resource-strategy-fit", "arguments": {"resources": resources}}
    elif "binpack" in (gpu, cpu):
        packed = 1 if cpu == "binpack" else 0
        arguments: dict[str, object] = {"binpack.cpu": packed, "binpack.memory": packed}
        if gpu == "binpack":
            arguments["binpack.resources"] = GPU_RESOURCE
            arguments[f"binpack.resources.{GPU_RESOURCE}"] = _GPU_WEIGHT
        yield {"name": "binpack", "arguments": {"binpack.weight": 10, **arguments}}
    # The scores of nodeorder for used nodes would counteract bin-packing.
    least = 1 if cpu == "spread" else 0
    yield {"name": "nodeorder", "arguments": {"leastrequested.weight": least, "balancedresource.weight": least}}


def _config_map(program: Program, name: str, key: str, content: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(program, name, program.source, namespace=SYSTEM_NAMESPACE),
        "data": {key: content},
    }


def _text(configuration: object) -> str:
    return yaml_text(configuration)
