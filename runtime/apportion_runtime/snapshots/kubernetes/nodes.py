"""Nodes: allocatable resources, readiness, and devices.

Source: pkg/scheduler/api/node_info/node_info.go, numa_topology.go, scheduler_util/scheduler_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_api.flags import parse_bool
from apportion_api.kubernetes.names import GPU_COUNT_LABEL, GPU_MEMORY_LABEL, MIG_STRATEGY_LABEL
from apportion_runtime.core.pod_constraints import Taint
from apportion_runtime.core.snapshot import Node, NumaTopology, NumaZone
from apportion_runtime.snapshots.faults import IGNORED_VALUE, Fault
from apportion_runtime.snapshots.kubernetes.amounts import allocatable, parsed, plain
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.kubernetes.objects import Object
from apportion_runtime.snapshots.quantities import parse_integer

_PRESSURES = frozenset(("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"))
_ZONE = "Node"
LEAST_DEVICE_MEMORY = 100
"""MiB. The engine rounds down to hundreds, and nothing can be a fraction of zero memory."""
_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_OLD_POLICIES = {
    "SingleNUMANodePodLevel": ("single-numa-node", "pod"),
    "SingleNUMANodeContainerLevel": ("single-numa-node", "container"),
    "RestrictedPodLevel": ("restricted", "pod"),
    "Restricted": ("restricted", "container"),
    "RestrictedContainerLevel": ("restricted", "container"),
    "BestEffortPodLevel": ("best-effort", "pod"),
    "BestEffort": ("best-effort", "container"),
    "BestEffortContainerLevel": ("best-effort", "container"),
}


def read_nodes(
    objects: Mapping[str, Sequence[Object]], dra_gpus: Mapping[str, int], engine: Engine, faults: list[Fault]
) -> tuple[Node, ...]:
    """Return the nodes of the scheduler's part of the cluster."""
    zones = {reported.name: _zones(reported, faults) for reported in objects["NodeResourceTopology"]}
    return tuple(
        _node(made, dra_gpus.get(made.name, 0), zones.get(made.name), engine, faults)
        for made in objects["Node"]
        if engine.is_of_pool(made.labels) and (not engine.restricts_nodes or _is_marked(made, engine))
    )


def _is_marked(node: Object, engine: Engine) -> bool:
    return engine.gpu_worker_key in node.labels or engine.cpu_worker_key in node.labels


def _node(made: Object, dra_gpus: int, zones: NumaTopology | None, engine: Engine, faults: list[Fault]) -> Node:
    labels = made.labels
    memory = _label_number(made, GPU_MEMORY_LABEL, faults)
    mig = labels.get(engine.mig_worker_key)
    strategy = labels.get(MIG_STRATEGY_LABEL, "")
    return Node(
        name=made.name,
        allocatable=allocatable(parsed(made.status.get("allocatable"), made, ("status", "allocatable"), faults)),
        labels=dict(labels),
        taints=tuple(
            Taint(taint.get("key") or "", taint.get("value") or "", taint.get("effect") or "")
            for taint in made.spec.get("taints") or ()
        ),
        ready=all(_is_well(c.get("type"), c.get("status")) for c in made.status.get("conditions") or ()),
        unschedulable=bool(made.spec.get("unschedulable")),
        gpu_memory=memory,
        gpu_memory_synced=memory is not None,
        n_gpus=_label_number(made, GPU_COUNT_LABEL, faults),
        mig_enabled=None if mig is None else _is_true(mig),
        mig_strategy=strategy if strategy in ("single", "mixed") else "none",
        dra_gpus=dra_gpus,
        numa=zones,
    )


def _label_number(node: Object, key: str, faults: list[Fault]) -> int | None:
    text = node.labels.get(key)
    if text is None:
        return None
    try:
        number = parse_integer(text)
        if key == GPU_MEMORY_LABEL and number < LEAST_DEVICE_MEMORY:
            raise ValueError(f"{number} MiB is less than the engine's unit of {LEAST_DEVICE_MEMORY} MiB")
        return number
    except ValueError as wrong:
        faults.append(
            Fault(
                IGNORED_VALUE,
                node.address,
                f"label `{key}`: {wrong}; the label is ignored",
                "let GPU Feature Discovery set the label",
                node.place.at("metadata", "labels", key),
            )
        )
        return None


def _is_true(text: str) -> bool:
    try:
        return parse_bool(text)
    except ValueError:
        return False


def _is_well(kind: str | None, status: str | None) -> bool:
    if kind == "Ready":
        return status == "True"
    return kind not in _PRESSURES or status == "False"


def _zones(reported: Object, faults: list[Fault]) -> NumaTopology | None:
    zones: list[NumaZone] = []
    for number, zone in enumerate(reported.data.get("zones") or ()):
        if zone.get("type") != _ZONE:
            continue
        sides: dict[str, dict[str, float]] = {}
        for side in ("available", "allocatable"):
            written = {r.get("name") or "": r.get(side) for r in zone.get("resources") or ()}
            sides[side] = plain(parsed(written, reported, ("zones", number), faults))
        zones.append(NumaZone(zone.get("name") or "", sides["available"], sides["allocatable"]))
    if not zones:
        return None
    zones.sort(key=_zone_order)
    policy, scope = _alignment(reported)
    return NumaTopology(policy, scope, tuple(zones))


def _zone_order(zone: NumaZone) -> tuple[bool, int, str]:
    digits = zone.id[len(zone.id.rstrip("0123456789")) :]
    return (False, int(digits), zone.id) if digits else (True, 0, zone.id)


def _alignment(reported: Object) -> tuple[str, str]:
    attributes = {a.get("name"): a.get("value") or "" for a in reported.data.get("attributes") or ()}
    policy = attributes.get("topologyManagerPolicy")
    if policy:
        return policy if policy in _POLICIES else "none", "pod" if attributes.get(
            "topologyManagerScope"
        ) == "pod" else "container"
    old = reported.data.get("topologyPolicies") or [""]
    return _OLD_POLICIES.get(old[0], ("none", "container"))
